// A TypeScript client with types generated from the document compiles without a
// cast, and works.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';

import { fetchDocument } from '../support/document.mjs';
import { root, startStore } from '../support/store.mjs';

const clients = path.join(root, 'tests/clients');
const sources = path.join(clients, 'contract/typed');
const build = path.join(process.env.PETSTORE_MODULE_DIR
    ?? path.join(root, 'build'), `typed-client-${process.pid}`);

let store;
let document;

function run(command, ...args) {
    return new Promise((resolve) => {
        execFile(process.execPath, [command, ...args],
            { cwd: build, maxBuffer: 2 ** 26 },
            (error, stdout, stderr) => resolve({ code: error?.code ?? 0,
                output: stdout + stderr }));
    });
}
const bin = (name) => path.join(clients, 'node_modules/.bin', name);

// Generates the types of a document, and compiles the two programs with them.
async function compile(text) {
    fs.writeFileSync(path.join(build, 'openapi.json'), JSON.stringify(text));
    const types = await run(bin('openapi-typescript'), 'openapi.json', '-o',
        'petstore-types.d.ts');
    assert.equal(types.code, 0, types.output);
    return run(bin('tsc'), '-p', '.');
}

before(async () => {
    fs.mkdirSync(build, { recursive: true });
    fs.symlinkSync(path.join(clients, 'node_modules'),
        path.join(build, 'node_modules'));
    for (const name of ['client.ts', 'mistakes.ts']) {
        fs.copyFileSync(path.join(sources, name), path.join(build, name));
    }
    fs.writeFileSync(path.join(build, 'package.json'), '{"type":"module"}');
    fs.writeFileSync(path.join(build, 'tsconfig.json'), JSON.stringify({
        compilerOptions: { strict: true, target: 'es2022', module: 'nodenext',
            lib: ['es2022', 'dom', 'dom.iterable'], types: [],
            skipLibCheck: true, outDir: 'out',
            paths: { 'petstore-types': ['./petstore-types.d.ts'] } },
        files: ['client.ts', 'mistakes.ts', 'environment.d.ts'] }));
    // Replaces the types of Node.js.
    fs.writeFileSync(path.join(build, 'environment.d.ts'),
        'declare const process: { argv: string[] };');

    store = await startStore();
    const pets = path.join(store.dir, 'pets.ndjson');
    fs.writeFileSync(pets,
        '{"name":"Bella","categoryId":1}\n'.repeat(45));
    await store.ctl('pet', 'import', pets);
    document = await fetchDocument(store);
});
after(async () => {
    fs.rmSync(build, { recursive: true, force: true });
    await store.stop();
});

test('the source does not bypass the types', () => {
    for (const name of fs.readdirSync(sources)) {
        const code = fs.readFileSync(path.join(sources, name), 'utf8')
            .replace(/\/\/ (?!@ts-ignore).*/g, '');
        assert.doesNotMatch(code,
            /\bany\b|\bas\b(?! \w+ from)|@ts-ignore|\bunknown\b|!\./, name);
    }
});

test('compiles with the document as it is, and works', async () => {
    const { code, output } = await compile(document);
    assert.equal(code, 0, output);
    const small = await store.createKey({ perMinute: 1, perDay: 10 });
    const ran = await run('out/client.js', store.url + store.base,
        await store.createKey({ perMinute: 1000, perDay: 1000 }), small);
    assert.equal(ran.output, 'done\n');
});

test('does not compile if the document lacks what it uses', async () => {
    const broken = structuredClone(document);
    delete broken.components.schemas.Pet.properties.id;
    broken.components.schemas.Pet.required = ['name', 'categoryId'];
    const { code, output } = await compile(broken);
    assert.notEqual(code, 0);
    assert.match(output, /Property 'id' does not exist/);
});
