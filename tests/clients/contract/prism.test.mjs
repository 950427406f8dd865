// The module behind Prism's validating proxy.

import assert from 'node:assert/strict';
import path from 'node:path';
import { after, before, test } from 'node:test';

import { fetchDocument } from '../support/document.mjs';
import { startStore } from '../support/store.mjs';
import { startPrism, violation } from './prism.mjs';

let store;
let document;
let key;

before(async () => {
    store = await startStore({ http: 'petstore_json_errors on;',
        server: 'location = /v1/usage { petstore_usage; }' });
    document = await fetchDocument(store);
    key = await store.createKey({ perMinute: 100000, perDay: 100000 });
});
after(() => store.stop());

// Starts Prism in front of the module with this document. The document's server
// is only a path, which Prism does not add to the upstream's URL.
async function start(t, name, text, options = []) {
    const prism = await startPrism(text, store.url + store.base,
        path.join(store.dir, `${name}.json`), ['--errors', ...options]);
    t.after(() => prism.stop());
    return async (method, target, headers = {}, body) => {
        const response = await fetch(prism.url + target, { method, body,
            headers: { Authorization: `Bearer ${key}`, ...headers } });
        const text = await response.text();
        return { response, complaint: await violation(response),
            json: text ? JSON.parse(text) : undefined };
    };
}

const json = { 'Content-Type': 'application/json' };
const kim = JSON.stringify({ name: 'Kim', categoryId: 7 });

test('valid requests', async (t) => {
    const prism = await start(t, 'strict', document);
    async function send(status, ...request) {
        const { response, complaint, json: data } = await prism(...request);
        assert.equal(complaint, undefined, request.join(' '));
        assert.equal(response.status, status, request.join(' '));
        return { headers: response.headers, data };
    }

    assert.deepEqual((await send(200, 'GET', '/pets')).data, []);
    for (let i = 1; i <= 5; ++i) {
        const { headers, data } = await send(201, 'POST', '/pets', json,
            JSON.stringify({ name: `pet ${i}`, categoryId: i,
                status: i % 2 ? 'available' : 'sold' }));
        assert.equal(headers.get('location'), `/v1/pets/${data.id}`);
    }

    let target = '/pets?limit=2';
    const ids = [];
    while (target) {
        const { headers, data } = await send(200, 'GET', target);
        ids.push(...data.map(({ id }) => id));
        target = /<\/v1([^>]*)>; rel="next"/.exec(headers.get('link') ?? '')?.[1];
    }
    assert.deepEqual(ids, [1, 2, 3, 4, 5]);
    assert.equal((await send(200, 'GET', '/pets?status=sold')).data.length, 2);

    const once = { ...json, 'Idempotency-Key': 'order-1' };
    const first = await send(201, 'POST', '/pets', once, kim);
    const again = await send(201, 'POST', '/pets', once, kim);
    assert.equal(again.headers.get('idempotent-replayed'), 'true');
    assert.deepEqual(again.data, first.data);
    const other = await send(422, 'POST', '/pets', once,
        JSON.stringify({ name: 'Tiger', categoryId: 7 }));
    assert.equal(other.data.code, 'idempotency_key_reused');

    const { headers } = await send(200, 'GET', '/pets/1');
    assert.match(headers.get('deprecation'), /^@\d+$/);
    assert.equal((await send(404, 'GET', '/pets/999')).data.code,
        'pet_not_found');

    for (const path of ['/pets?limit=2', '/pets/1', '/usage']) {
        await send(304, 'GET', path, { 'If-None-Match': '*' });
    }

    const { windows } = (await send(200, 'GET', '/usage')).data;
    assert.deepEqual(windows.map(({ window }) => window), ['minute', 'day']);

    const wrong = { Authorization: 'Bearer wrong' };
    assert.equal((await send(401, 'GET', '/usage', wrong)).data.code,
        'invalid_api_key');
    assert.equal((await send(401, 'GET', '/pets', wrong)).data.code,
        'invalid_api_key');
    const small = { Authorization: `Bearer ${await store.createKey({
        perMinute: 1, perDay: 10 })}` };
    await send(200, 'GET', '/pets', small);
    const denied = await send(429, 'GET', '/pets', small);
    assert.equal(denied.data.code, 'rate_limit_exceeded');
    assert.ok(Number(denied.headers.get('retry-after')) >= 1);
    const reader = { ...json, Authorization: `Bearer ${await store.createKey({
        scopes: 'read' })}` };
    assert.equal((await send(403, 'POST', '/pets', reader, kim)).data.code,
        'insufficient_scope');
});

test('invalid requests', async (t) => {
    // Without `security`, because Prism would reject requests without a key
    // itself.
    const open = structuredClone(document);
    delete open.security;
    const prism = await start(t, 'lenient', open,
        ['--validate-request', 'false']);
    const post = (headers, body) => ['POST', '/pets', headers, body];
    // Without invalid_json, because Prism parses bodies itself. See
    // replay.test.mjs.
    const cases = [
        [401, 'missing_api_key', ['GET', '/pets', { Authorization: '' }]],
        [400, 'invalid_parameter', ['GET', '/pets?limit=0']],
        [400, 'invalid_parameter', ['GET', '/pets?limit=101']],
        [400, 'invalid_parameter', ['GET', '/pets?status=lost']],
        [400, 'invalid_parameter', ['GET', '/pets?cursor=x']],
        [404, 'pet_not_found', ['GET', '/pets/abc']],
        [400, 'missing_body', post(json, '')],
        [400, 'missing_field', post(json, '{"name":"Kim"}')],
        [400, 'invalid_field', post(json, '{"name":"","categoryId":1}')],
        [400, 'read_only_field',
            post(json, '{"id":1,"name":"Kim","categoryId":1}')],
        [400, 'invalid_parameter', post({ ...json,
            'Idempotency-Key': 'a'.repeat(256) }, kim)],
        [413, 'payload_too_large', post(json,
            `{"name":"Kim","categoryId":1,"more":"${'a'.repeat(20000)}"}`)],
        [415, 'unsupported_media_type', post({ 'Content-Type':
            'application/x-www-form-urlencoded' }, kim)],
        [415, 'unsupported_media_type', post({ ...json,
            'Content-Encoding': 'br' }, kim)],
        [414, 'uri_too_long', ['GET', `/pets?a=${'a'.repeat(9000)}`]],
        [412, undefined, ['GET', '/pets', { 'If-Match': '"a"' }]],
    ];
    for (const [status, code, request] of cases) {
        const { response, complaint, json: data } = await prism(...request);
        const what = `${code}: ${JSON.stringify(request).slice(0, 200)}`;
        assert.equal(complaint, undefined, what);
        assert.equal(response.status, status, what);
        if (code) {
            assert.equal(data.code, code, what);
        }
    }
    t.diagnostic(`${cases.length} kinds of invalid requests behind Prism`);
});

test('Prism notices what the document does not have', async (t) => {
    const broken = structuredClone(document);
    const { get } = broken.paths['/pets'];
    const { enum: codes } = get.responses['401'].content['application/json']
        .schema.allOf[1].properties.code;
    codes.splice(codes.indexOf('invalid_api_key'), 1);
    delete get.responses['400'];
    get.responses['200'].headers['X-RateLimit-Limit']
        = { schema: { type: 'integer', maximum: 5 } };
    const prism = await start(t, 'broken', broken,
        ['--validate-request', 'false']);
    for (const [expected, ...request] of [
        [/code/, 'GET', '/pets', { Authorization: 'Bearer wrong' }],
        [/status code/, 'GET', '/pets?limit=0'],
        [/x-ratelimit-limit/i, 'GET', '/pets'],
    ]) {
        assert.match((await prism(...request)).complaint ?? '', expected);
    }
});
