// The documents served by the module pass third-party linters without a
// warning.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';

import { fetchAdminDocument, fetchDocument, Judge }
    from '../support/document.mjs';
import { root, startStore } from '../support/store.mjs';

const clients = path.join(root, 'tests/clients');
const here = path.join(clients, 'contract');

let store;
let document;
let admin; // the document of the admin API

// Runs a linter on a document. Returns { code, output }.
function lint(name, args, text) {
    const file = path.join(store.dir, `${name}.json`);
    fs.writeFileSync(file, JSON.stringify(text));
    return new Promise((resolve) => {
        execFile(path.join(clients, 'node_modules/.bin', name),
            [...args, file], { cwd: store.dir, env: { ...process.env,
                NO_COLOR: '1', REDOCLY_TELEMETRY: 'off',
                REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' } },
            (error, stdout, stderr) => resolve({ code: error?.code ?? 0,
                output: stdout + stderr }));
    });
}

const redocly = (text) => lint('redocly', ['lint', '--format=stylish',
    '--config', path.join(here, 'redocly.yaml')], text);
const spectral = (text) => lint('spectral', ['lint', '--quiet',
    '--fail-severity=hint', '-r', path.join(here, 'spectral.yaml')], text);

// Generators name types after components, regardless of case or kind.
function clashingNames(text) {
    const names = Object.values(text.components).flatMap(Object.keys);
    return names.filter((name) => names.some((other) => other !== name
        && other.toLowerCase() === name.toLowerCase()));
}

// The patterns with more than the syntax that ECMA-262, RE2, PCRE2 and Python
// share: no \u, \d, \p, lookaround or back references.
function unportablePatterns(text) {
    const escape = String.raw`\\(?:x[0-9a-fA-F]{2}|[-^$.*+?()[\]{}|/\\])`;
    // Doubled, these are set operations in some languages.
    const inClass = String.raw`(?!&&|~~|\|\||--)(?:${escape}|[^\\[\]])`;
    const atom = String.raw`[.)]|${escape}|\[\^?(?:${inClass})+\]|[^\\^$.*+?()[\]{}|]`;
    const quantifier = String.raw`(?:[*+?]|\{\d+(?:,\d*)?\})\??`;
    const portable = new RegExp(
        String.raw`^(?:[\^$|]|\(\?:|\((?!\?)|(?:${atom})(?:${quantifier})?)*$`, 'u');
    const found = [];
    JSON.stringify(text, (key, value) => {
        if (key === 'pattern' && typeof value === 'string'
            && !(portable.test(value) && new RegExp(value, 'u'))) {
            found.push(value);
        }
        return value;
    });
    return found;
}

before(async () => {
    store = await startStore({ server: `location = /v1/usage { petstore_usage; }
        location /admin/v1/ { petstore_admin; }` });
    document = await fetchDocument(store);
    admin = await fetchAdminDocument(store,
        await store.createKey({ scopes: 'admin' }));
});
after(() => store.stop());

for (const [name, linter] of Object.entries({ redocly, spectral })) {
    test(`${name} has no finding`, async () => {
        for (const text of [document, admin]) {
            const { code, output } = await linter(text);
            assert.equal(code, 0, output);
            assert.doesNotMatch(output, /warning/i);
        }
    });

    test(`${name} notices a mistake`, async () => {
        const broken = structuredClone(document);
        delete broken.paths['/pets'].get.operationId;
        broken.paths['/pets'].post.responses['201'].content['application/json']
            .examples.pet.value.id = 'one';
        const { code, output } = await linter(broken);
        assert.notEqual(code, 0);
        assert.match(output, /operation-operationId/);
        assert.match(output, /must be integer/);
    });
}

test('no two components differ only in case', () => {
    assert.deepEqual(clashingNames(document), []);
    assert.deepEqual(clashingNames(admin), []);
    const broken = structuredClone(document);
    broken.components.parameters.status = {};
    assert.deepEqual(clashingNames(broken), ['status', 'Status']);
});

test('patterns are portable', () => {
    assert.deepEqual(unportablePatterns(document), []);
    assert.deepEqual(unportablePatterns(admin), []);
    assert.match(JSON.stringify(document), /"pattern":/);
    for (const pattern of [String.raw`^\u0041$`, String.raw`\d+`, '(?=a)a',
        String.raw`(a)\1`, String.raw`[\s]`, '[[:alpha:]]', '[a&&b]',
        String.raw`\p{L}`, '(?<name>a)', 'a++', String.raw`\Aa\z`]) {
        const broken = structuredClone(document);
        broken.components.schemas.NewPet.properties.name.pattern = pattern;
        assert.deepEqual(unportablePatterns(broken), [pattern]);
    }
});

// The effects of a location's directives on its document.
const variants = {
    'absolute links and headers of both windows':
        'petstore_base_url https://api.pets.test/shop/v1; '
        + 'petstore_limit_headers windows;',
    'IETF fields and no sunset':
        'petstore_limit_headers ietf; petstore_get_sunset off;',
    'a sunset that has passed': 'petstore_get_sunset 2026-01-01;',
};

for (const [name, location] of Object.entries(variants)) {
    test(`${name}: passes the linters and matches the responses`, async (t) => {
        const other = await startStore({ location });
        t.after(() => other.stop());
        const text = await fetchDocument(other);
        const { code, output } = await redocly(text);
        assert.equal(code, 0, output);

        const judge = new Judge(text);
        const Authorization = `Bearer ${await other.createKey()}`;
        const json = { Authorization, 'Content-Type': 'application/json' };
        const body = '{"name":"Kim","categoryId":7}';
        for (const [method, target, options] of [
            ['POST', '/pets', { headers: json, body }],
            ['POST', '/pets', { headers: json, body }],
            ['POST', '/pets', { headers: json, body: '{' }],
            ['GET', '/pets?limit=1', { headers: { Authorization } }],
            ['GET', '/pets/1', { headers: { Authorization } }],
            ['GET', '/pets/1', {}],
        ]) {
            const response = await fetch(other.url + other.base + target,
                { method, ...options });
            assert.deepEqual(judge.problems({ method,
                target: judge.base + target, status: response.status,
                headers: [...response.headers], body: await response.text() }),
            [], `${method} ${target}`);
        }
    });
}
