// The admin API behind Prism's validating proxy: every operation, and errors,
// as its document says.

import assert from 'node:assert/strict';
import crypto from 'node:crypto';
import path from 'node:path';
import { after, before, test } from 'node:test';

import { fetchAdminDocument, Judge } from '../support/document.mjs';
import { startStore } from '../support/store.mjs';
import { startPrism, violation } from './prism.mjs';

const base = '/admin/v1';

let store;
let document;
let judge;
let key;
let prism;
const seen = new Set(); // operationId and status

before(async () => {
    store = await startStore({ http: 'petstore_json_errors on;',
        server: `location ${base}/ { petstore_admin; }` });
    key = await store.createKey({ scopes: 'admin', plan: 'enterprise',
        perMinute: 100000, perDay: 100000 });
    document = await fetchAdminDocument(store, key);
    judge = new Judge(document);
    prism = await startPrism(document, store.url + base,
        path.join(store.dir, 'admin.json'), ['--errors']);
});
after(async () => {
    await prism?.stop();
    await store.stop();
});

// Sends a request through Prism. Returns the object, and the headers.
async function send(status, method, target, body, headers = {}) {
    const type = method === 'PATCH' ? 'application/merge-patch+json'
        : 'application/json';
    const response = await fetch(prism.url + target, { method,
        body: body && JSON.stringify(body),
        headers: { Authorization: `Bearer ${key}`,
            ...body && { 'Content-Type': type }, ...headers } });
    const what = `${method} ${target}`;
    assert.equal(await violation(response), undefined, what);
    const text = await response.text();
    assert.equal(response.status, status, `${what}: ${text}`);
    const found = judge.operation(method, base + target);
    seen.add(`${found.operation.operationId} ${status}`);
    return { data: text ? JSON.parse(text) : undefined,
        headers: response.headers };
}

// Without Prism, which refuses what the document does not allow. Returns the
// code of the error.
async function refused(status, method, target, body, headers = {}) {
    const response = await fetch(store.url + base + target, { method, body,
        headers: { Authorization: `Bearer ${key}`,
            'Content-Type': 'application/json', ...headers } });
    const text = await response.text();
    assert.equal(response.status, status, `${method} ${target}: ${text}`);
    assert.deepEqual(judge.problems({ method, target: base + target, status,
        headers: [...response.headers], body: text }), []);
    return JSON.parse(text).code;
}

test('every operation matches the document', async () => {
    const once = { 'Idempotency-Key': 'sign-up-1' };
    const { data: account, headers } = await send(201, 'POST', '/accounts',
        { external_id: 'cust_1', label: 'Acmé', plan: 'pro' }, once);
    assert.equal(headers.get('location'), `${base}/accounts/${account.id}`);
    const again = await send(201, 'POST', '/accounts',
        { external_id: 'cust_1', label: 'Acmé', plan: 'pro' }, once);
    assert.equal(again.headers.get('idempotent-replayed'), 'true');
    assert.deepEqual(again.data, account);

    const { data: created } = await send(201, 'POST', '/keys',
        { account: account.id, label: 'production', expires: '2031-01-01' });
    assert.match(created.key, /^petstore_/);
    const digest = crypto.createHash('sha256').update('of-another-gateway')
        .digest('hex');
    const { data: imported } = await send(201, 'POST', '/keys',
        { sha256: digest, scopes: ['read', 'orders:write'] });
    assert.equal(imported.key, undefined);

    await send(200, 'PUT', '/plans/startup', { per_minute: 5, per_day: 50 });
    await send(200, 'GET', '/plans');
    await send(200, 'PATCH', `/accounts/${account.id}`,
        { plan: 'startup', per_month: 700 });
    await send(200, 'PATCH', `/keys/${created.id}`,
        { label: null, per_minute: 3 });
    await send(200, 'GET', `/accounts/${account.id}`);
    await send(200, 'GET', `/keys/${created.id}`);
    await send(200, 'GET', `/accounts/${account.id}/usage`);
    await send(200, 'GET', `/accounts/${account.id}/usage?by=month`);
    for (const path of ['/accounts', `/accounts/${account.id}`,
        `/accounts/${account.id}/usage`, '/usage', '/keys',
        `/keys/${created.id}`, '/plans']) {
        await send(304, 'GET', path, undefined, { 'If-None-Match': '*' });
    }
    const { data: next } = await send(201, 'POST',
        `/keys/${created.id}/rotate`, { grace: '24h' });
    await send(201, 'POST', `/keys/${next.id}/rotate`);
    await send(204, 'POST', `/accounts/${account.id}/unban`);
    await send(204, 'POST', `/accounts/${account.id}/reset`, {});

    for (const list of ['/accounts', '/keys', '/usage']) {
        let target = `${list}?limit=1`;
        let entries = 0;
        while (target) {
            const { data, headers: page } = await send(200, 'GET', target);
            entries += data.length;
            target = new RegExp(`<${base}([^>]*)>; rel="next"`)
                .exec(page.get('link') ?? '')?.[1];
        }
        assert.ok(entries >= 3, `${list}: ${entries}`);
    }
    assert.equal((await send(200, 'GET', '/accounts?external_id=cust_1'))
        .data.length, 1);
    assert.equal((await send(200, 'GET', `/keys?account=${account.id}`))
        .data.length, 3);
    assert.equal((await send(200, 'GET', `/keys?sha256=${digest}`))
        .data.length, 1);

    await send(409, 'DELETE', '/plans/startup');
    await send(409, 'DELETE', `/accounts/${account.id}`);
    for (const { id } of (await send(200, 'GET', '/keys?external_id=cust_1'))
        .data) {
        await send(204, 'DELETE', `/keys/${id}`);
    }
    await send(204, 'DELETE', `/accounts/${account.id}`);
    await send(200, 'GET', `/accounts/${account.id}/usage`);
    await send(204, 'DELETE', '/plans/startup');

    const operations = Object.values(document.paths)
        .flatMap((item) => Object.values(item))
        .map(({ operationId }) => operationId);
    assert.deepEqual(operations.filter((id) =>
        ![...seen].some((one) => one.startsWith(`${id} 2`))), []);
});

test('errors match the document', async () => {
    for (const [status, code, method, target, body, headers] of [
        [401, 'invalid_api_key', 'GET', '/keys', undefined,
            { Authorization: 'Bearer unknown' }],
        [404, 'not_found', 'GET', '/keys/nobody'],
        [404, 'not_found', 'PATCH', '/accounts/nobody', '{}'],
        [404, 'not_found', 'DELETE', '/plans/nobody'],
        [400, 'invalid_parameter', 'GET', '/usage?limit=0'],
        [400, 'invalid_parameter', 'GET', '/accounts/x/usage?by=week'],
        [400, 'invalid_json', 'POST', '/keys', '{'],
        [400, 'missing_field', 'PUT', '/plans/x', '{"per_minute":1}'],
        [400, 'read_only_field', 'POST', '/accounts', '{"id":"x"}'],
        [400, 'invalid_field', 'POST', '/accounts', '{"plan":"nobody"}'],
        [415, 'unsupported_media_type', 'POST', '/keys', '{}',
            { 'Content-Type': 'text/plain' }],
        [413, 'payload_too_large', 'POST', '/keys', ' '.repeat(20000)],
    ]) {
        assert.equal(await refused(status, method, target, body, headers), code);
    }
    const plain = await store.createKey();
    assert.equal(await refused(403, 'GET', '/plans', undefined,
        { Authorization: `Bearer ${plain}` }), 'insufficient_scope');
});
