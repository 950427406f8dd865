// Checks the responses that the end-to-end tests received over HTTP against the
// document, with Prism and ajv. PETSTORE_E2E_TESTS is the program with these
// tests.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import fs from 'node:fs';
import http from 'node:http';
import path from 'node:path';
import { after, before, test } from 'node:test';

import { fetchDocument, Judge } from '../support/document.mjs';
import { root, startStore } from '../support/store.mjs';
import { startPrism, violation } from './prism.mjs';

const program = process.env.PETSTORE_E2E_TESTS
    ?? path.join(root, 'build/tests/tests/e2e_tests');

// The tests whose nginx.conf does not change what the document describes, by
// the start of their names: not those of error_page, upstream servers and
// Sunset.
const filter = ['list:', 'create:', 'get: a', 'get: what', 'get: the other',
    'authentication:', 'http:', 'idempotency:', 'limits:',
    'nginx errors: inside', 'nginx errors: client_max', 'nginx errors: the',
    'nginx errors: with p'].map((start) => `${start}*`).join(',');

// The nginx.conf of these tests returns any status that the client names.
const madeUp = /[?&]fail=(404|418)\b/;

let store;
let document;
let judge;
let exchanges; // with a documented path and method
let others;

function record(file) {
    return new Promise((resolve, reject) => {
        execFile(program, [filter], { maxBuffer: 2 ** 26,
            env: { ...process.env, PETSTORE_RECORD: file } },
        (error, stdout) => (error ? reject(new Error(stdout)) : resolve()));
    });
}

before(async () => {
    store = await startStore();
    document = await fetchDocument(store);
    judge = new Judge(document);
    const file = path.join(store.dir, 'record.ndjson');
    await record(file);
    const all = fs.readFileSync(file, 'utf8').trimEnd().split('\n')
        .map((line) => JSON.parse(line));
    exchanges = all.filter(({ method, target }) =>
        judge.operation(method, target) && !madeUp.test(target));
    others = all.length - exchanges.length;
});
after(() => store.stop());

const codeOf = ({ status, body }) =>
    (status >= 400 && body ? JSON.parse(body).code : undefined);

const describe = ({ method, target, status }) =>
    `${method} ${target.slice(0, 80)}: ${status}`;

// Equal for exchanges that look the same to a validator.
function shape(exchange) {
    const { path: template } = judge.operation(exchange.method, exchange.target);
    return [exchange.method, template, exchange.status, codeOf(exchange),
        exchange.headers.map(([name]) => name).sort(),
        exchange.body.startsWith('[{'), exchange.target.replace(/=[^&]*/g, '=')]
        .join(' ');
}

// Prism rejects integers that a double cannot represent, whatever their format.
const isHuge = ({ body }) => (body.match(/":-?\d{16,}/g) ?? []).some((text) =>
    !Number.isSafeInteger(Number(text.slice(2))));

const compressed = ({ headers }) =>
    headers.some(([name]) => name === 'content-encoding');

test('ajv: every exchange is documented', (t) => {
    const found = new Set();
    for (const exchange of exchanges.filter((one) => !compressed(one))) {
        for (const problem of judge.problems(exchange)) {
            found.add(`${describe(exchange)}: ${problem}`);
        }
    }
    assert.deepEqual([...found].slice(0, 20), []);
    t.diagnostic(`${exchanges.length} exchanges by ajv, ${others} on paths and`
        + ' methods that the document does not have');
});

test('ajv: the recorded exchanges cover the expected statuses and codes', () => {
    const statuses = new Set(exchanges.map(({ status }) => status));
    for (const status of [200, 201, 400, 401, 404, 413, 415, 422, 429]) {
        assert.ok(statuses.has(status), `no exchange with ${status}`);
    }
    const codes = new Set(exchanges.filter(({ method }) => method !== 'HEAD')
        .map(codeOf));
    for (const code of ['invalid_json', 'missing_body', 'missing_field',
        'invalid_field', 'read_only_field', 'invalid_parameter',
        'rate_limit_exceeded']) {
        assert.ok(codes.has(code), `no exchange with ${code}`);
    }
});

test('ajv: a header, code or status missing from the document is noticed', () => {
    const responses = (broken) => broken.paths['/pets'].get.responses;
    const enums = (broken) => responses(broken)['400'].content[
        'application/json'].schema.allOf[1].properties.code;
    const cases = [
        ['x-ratelimit-reset of 200 is not documented', (broken) => {
            delete responses(broken)['200'].headers['X-RateLimit-Reset'];
        }],
        ['must be equal to one of the allowed values', (broken) => {
            enums(broken).enum = enums(broken).enum
                .filter((code) => code !== 'invalid_parameter');
        }],
        ['status 401 is not documented', (broken) => {
            delete responses(broken)['401'];
        }],
        ['header Allow is missing', (broken) => {
            responses(broken)['200'].headers.Allow
                = { required: true, schema: { type: 'string' } };
        }],
        ['must NOT have additional properties', (broken) => {
            broken.components.schemas.Pet.additionalProperties = false;
            delete broken.components.schemas.Pet.properties.categoryId;
        }],
    ];
    for (const [complaint, change] of cases) {
        const broken = structuredClone(document);
        change(broken);
        const other = new Judge(broken);
        assert.ok(exchanges.some((exchange) => !compressed(exchange)
            && other.problems(exchange).some((text) =>
                text.includes(complaint))), complaint);
    }
});

test('Prism: no violation', async (t) => {
    const replayed = [...new Map(exchanges
        .filter((one) => one.method !== 'HEAD' && !compressed(one)
            && !isHuge(one))
        .map((one) => [shape(one), one])).values()];
    const bent = structuredClone(replayed.find(({ status, body }) =>
        status === 200 && body.startsWith('[{')));
    bent.body = bent.body.replace('"categoryId":', '"category":');

    // Responds with the recorded response that the request names.
    const upstream = http.createServer((request, response) => {
        const index = request.headers['x-exchange'];
        const { status, headers, body } = index === 'bent' ? bent
            : replayed[index];
        request.resume();
        request.on('end', () => {
            for (const [name, value] of headers) {
                if (!['connection', 'transfer-encoding', 'content-length']
                    .includes(name)) {
                    response.appendHeader(name, value);
                }
            }
            // Without a length, the response would be chunked. node-fetch 2,
            // which Prism uses, reports chunked responses as cut short where
            // Node listens for data on idle connections (Debian 13's does,
            // since a security fix).
            response.setHeader('Content-Length', Buffer.byteLength(body));
            response.writeHead(status).end(body);
        });
    });
    await new Promise((resolve) => upstream.listen(0, '127.0.0.1', resolve));
    t.after(() => {
        upstream.closeAllConnections();
        upstream.close();
    });
    // Prism would reject requests without a key itself.
    const open = structuredClone(document);
    delete open.security;
    const prism = await startPrism(open,
        `http://127.0.0.1:${upstream.address().port}`,
        path.join(store.dir, 'replay.json'),
        ['--errors', '--validate-request', 'false']);
    t.after(() => prism.stop());

    async function send(exchange, index) {
        const response = await fetch(prism.url
            + exchange.target.slice(judge.base.length), {
            method: exchange.method,
            headers: { 'x-exchange': String(index) },
        });
        const complaint = await violation(response);
        if (!complaint) {
            assert.equal(response.status, exchange.status, describe(exchange));
            assert.equal(await response.text(), exchange.body);
        }
        return complaint;
    }

    for (const [index, exchange] of replayed.entries()) {
        assert.equal(await send(exchange, index), undefined, describe(exchange));
    }
    assert.match(await send(bent, 'bent') ?? '', /categoryId/,
        'Prism notices a wrong body');
    t.diagnostic(`${replayed.length} exchanges replayed behind Prism`);
});
