// Calls from pages of other origins: what petstore_cors lets a script read, and
// that a script reads nothing without it.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { launch, openPage } from '../support/browser.mjs';
import { freePort, startStore } from '../support/store.mjs';

const page = (port) => `server {
    listen %ADDRESS%:${port};
    location / {
        default_type text/html;
        return 200 "<!doctype html><title>Page</title>";
    }
}`;

let browser;
let store;
let allowed;  // origins of pages
let other;
let closed;   // URL of the same store without petstore_cors
let key;

before(async () => {
    const ports = [await freePort(), await freePort(), await freePort()];
    store = await startStore({
        location: `petstore_cors http://%ADDRESS%:${ports[0]};`,
        servers: `${page(ports[0])} ${page(ports[1])} server {
            listen %ADDRESS%:${ports[2]};
            location /v1/ { petstore; }
        }`,
    });
    [allowed, other, closed] =
        ports.map((port) => `http://${store.address}:${port}`);
    key = await store.createKey({ plan: 'business' });
    browser = await launch();
});

after(async () => {
    await browser?.close();
    await store?.stop();
});

// Calls fetch() in a page of this origin. Returns what a script can read:
// status, headers and body, or the name of the error.
async function fetchFrom(origin, url, options) {
    const tab = await openPage(browser);
    await tab.goto(`${origin}/`);
    const result = await tab.evaluate(async (target, init) => {
        try {
            const response = await fetch(target, init);
            return {
                status: response.status,
                headers: Object.fromEntries(response.headers),
                body: await response.json(),
            };
        } catch (error) {
            return { error: error.name };
        }
    }, url, options);
    await tab.browserContext().close();
    return result;
}

const bearer = (value) => ({ headers: { authorization: `Bearer ${value}` } });

const create = (headers = {}) => ({
    method: 'POST',
    headers: { ...bearer(key).headers, 'content-type': 'application/json',
        ...headers },
    body: JSON.stringify({ name: 'Rex', categoryId: 7 }),
});

function assertRateHeaders({ headers }) {
    for (const name of ['limit', 'remaining', 'reset']) {
        assert.match(headers[`x-ratelimit-${name}`] ?? '', /^\d+$/, name);
    }
}

test('an allowed origin creates a pet and sees Location', async () => {
    const url = `${store.url}/v1/pets`;
    const first = await fetchFrom(allowed, url,
        create({ 'idempotency-key': 'one' }));
    assert.equal(first.status, 201);
    assert.equal(first.headers.location, `/v1/pets/${first.body.id}`);
    assertRateHeaders(first);
    const again = await fetchFrom(allowed, url,
        create({ 'idempotency-key': 'one' }));
    assert.deepEqual(again.body, first.body);
    assert.equal(again.headers['idempotent-replayed'], 'true');
});

test('an allowed origin sees pets, Link and the limits', async () => {
    for (let count = 0; count < 2; ++count) {
        const created = await fetch(`${store.url}/v1/pets`, create());
        assert.equal(created.status, 201);
    }
    const page = await fetchFrom(allowed, `${store.url}/v1/pets?limit=1`,
        bearer(key));
    assert.equal(page.status, 200);
    assert.equal(page.body.length, 1);
    assert.match(page.headers.link, /rel="next"/);
    assertRateHeaders(page);
    const pet = await fetchFrom(allowed,
        `${store.url}/v1/pets/${page.body[0].id}`, bearer(key));
    assert.deepEqual(pet.body, page.body[0]);
    assert.match(pet.headers.deprecation, /^@\d+$/);
    assert.match(pet.headers.sunset, / GMT$/);
});

test('an allowed origin sees why it is refused: 401', async () => {
    const { status, body } = await fetchFrom(allowed, `${store.url}/v1/pets`,
        bearer('wrong'));
    assert.equal(status, 401);
    assert.equal(body.code, 'invalid_api_key');
});

test('an allowed origin sees why it is refused: 429', async () => {
    const small = await store.createKey(
        { plan: 'enterprise', perMinute: 1, perDay: 10 });
    const url = `${store.url}/v1/pets`;
    assert.equal((await fetchFrom(allowed, url, bearer(small))).status, 200);
    const denied = await fetchFrom(allowed, url, bearer(small));
    assert.equal(denied.status, 429);
    assert.equal(denied.body.code, 'rate_limit_exceeded');
    assert.match(denied.headers['retry-after'], /^\d+$/);
    assertRateHeaders(denied);
});

test('a preflight request needs no key and costs nothing', async () => {
    const fresh = await store.createKey({ plan: 'pro' });
    const { headers } = await fetchFrom(allowed, `${store.url}/v1/pets`,
        bearer(fresh));
    assert.equal(headers['x-ratelimit-remaining'], '299');
    assert.match(store.accessLog(), /"OPTIONS \/v1\/pets HTTP\/1.1" 204 /);
});

test('the OpenAPI document is readable', async () => {
    const { body } = await fetchFrom(allowed, `${store.url}/v1/openapi.json`);
    assert.match(body.openapi, /^3\.1\./);
});

test('another origin sees nothing and creates nothing', async () => {
    const before = (await (await fetch(`${store.url}/v1/pets?limit=100`,
        bearer(key))).json()).length;
    const url = `${store.url}/v1/pets`;
    assert.deepEqual(await fetchFrom(other, url, bearer(key)),
        { error: 'TypeError' });
    assert.deepEqual(await fetchFrom(other, url, create()),
        { error: 'TypeError' });
    assert.deepEqual(await fetchFrom(other, url), { error: 'TypeError' });
    const now = (await (await fetch(`${store.url}/v1/pets?limit=100`,
        bearer(key))).json()).length;
    assert.equal(now, before);
});

test('without petstore_cors, no origin sees anything', async () => {
    assert.equal((await fetch(`${closed}/v1/pets`, bearer(key))).status, 200);
    assert.deepEqual(await fetchFrom(allowed, `${closed}/v1/pets`, bearer(key)),
        { error: 'TypeError' });
    assert.deepEqual(await fetchFrom(allowed, `${closed}/v1/openapi.json`),
        { error: 'TypeError' });
});
