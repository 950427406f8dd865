// Checks that the module responds as shown in docs/http.md and docs/errors.md.
//
// A block "```http request SETUP" is sent byte for byte, except for <API_KEY>,
// <ETAG> (that of openapi.json) and … (9,000 characters). The "```http
// response" after it must be the response; values that differ between runs are
// not compared. PETSTORE_UPDATE_DOCS=1 writes the responses into the pages.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { after, describe, test } from 'node:test';
import tls from 'node:tls';

import { freePort, root, startStore, waitUntil } from '../support/store.mjs';

// The exchanges with `same` are sent in this order.
const pages = ['docs/http.md', 'docs/errors.md'].map((name) => {
    const file = path.join(root, name);
    return { name, file, text: fs.readFileSync(file, 'utf8') };
});
const catalogue = pages[1];

const pets = [['Rex', 1, 'available'], ['Bella', 1, 'available'],
    ['Charlie', 1, 'pending'], ['Luna', 2, 'available'], ['Max', 2, 'sold']]
    .map(([name, categoryId, status]) =>
        `${JSON.stringify({ name, categoryId, status })}\n`).join('');

const location = (text) => ({ options: { location: text } });

// Self-signed certificates: no authority of one is that of the other.
const certificates = fs.mkdtempSync(path.join(os.tmpdir(), 'petstore-tls-'));
fs.chmodSync(certificates, 0o755);
const pem = (name) => path.join(certificates, name);
for (const name of ['server', 'client']) {
    execFileSync('openssl', ['req', '-x509', '-newkey', 'ec', '-pkeyopt',
        'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2', '-subj',
        `/CN=${name}`, '-keyout', pem(`${name}.key`), '-out',
        pem(`${name}.crt`)], { stdio: 'ignore' });
}
after(() => fs.rmSync(certificates, { recursive: true }));

// A server with a TLS port that asks for client certificates. The requests go
// there.
async function tlsServer(connect) {
    const port = await freePort();
    return { connect: (host) => connect({ host, port, rejectUnauthorized: false }),
        options: { server: `listen %ADDRESS%:${port} ssl; ssl_verify_client on;
            ssl_certificate ${pem('server.crt')};
            ssl_certificate_key ${pem('server.key')};
            ssl_client_certificate ${pem('server.crt')};` } };
}

// Configurations by the word after "http request". `keys` are options of the
// key; `prepare` sets up the store. Without a word, each request has a new
// account.
const setups = {
    '': {},
    same: {}, // one account and store for all these requests
    'read-only': { keys: { scopes: 'read' } },
    costly: location('petstore_cost 100;'),
    'pro-only': location('petstore_allow_plans pro business;'),
    'one-per-minute': { keys: { perMinute: 1, perDay: 100 },
        prepare: (store, key) => list(store, key) },
    usage: { options: { server: 'location = /v1/usage { petstore_usage; }' },
        prepare: (store, key) => list(store, key) },
    banned: { keys: { perMinute: 1, perDay: 100 },
        options: { location: 'petstore_ban threshold=2 window=60s duration=5m '
            + 'max=1h;' },
        prepare: (store, key) => waitUntil(async () =>
            (await list(store, key)).includes('api_key_banned'), 'the ban') },
    sunset: location('petstore_get_sunset 2026-01-01;'),
    'redis-away': location('petstore_redis redis://%ADDRESS%:1/0;'),
    'no-replica': { options: { location: 'petstore_durability replicas=1; '
        + 'petstore_redis_timeout 1s;',
    server: 'location /n/v1/ { petstore /n/v1; }' },
    // Loads the script into Redis: its text would otherwise wait behind the
    // WAIT. The first create may also find that the connection is not ready.
    prepare: async (store) => {
        const key = await store.createKey();
        await waitUntil(async () =>
            (await create(store, key, '/n/v1')).includes('Kim'), 'a create');
        await waitUntil(async () =>
            (await create(store, key)).includes('outcome_unknown'),
        'a create that was sent');
    } },
    damaged: { prepare: (store) => redis(store,
        'DEL petstore:{petstore:pets}:bucket:0',
        'SET petstore:{petstore:pets}:bucket:0 x') },
    impatient: location('client_body_timeout 1s;'),
    auth_basic: location('auth_basic store; auth_basic_user_file nginx.conf;'),
    deny: location('deny all;'),
    limit_req: { options: {
        http: 'limit_req_zone $binary_remote_addr zone=one:1m rate=1r/m;',
        location: 'limit_req zone=one; limit_req_status 429;' },
    prepare: (store, key) => list(store, key) },
    'plain-http': await tlsServer((options) => net.connect(options)),
    'no-certificate': await tlsServer((options) => tls.connect(options)),
    'other-certificate': await tlsServer((options) => tls.connect({ ...options,
        cert: fs.readFileSync(pem('client.crt')),
        key: fs.readFileSync(pem('client.key')) })),
    'return-411': location('return 411;'),
    'return-502': location('return 502;'),
};

const stores = new Map();
after(() => Promise.all([...stores.values()].map(({ store }) => store.stop())));

async function storeFor(setup) {
    const { options = {}, keys = {}, prepare } = setups[setup];
    const name = setup === '' && stores.has('same') ? 'same' : setup;
    if (!stores.has(name)) {
        const store = await startStore({ ...options,
            http: `petstore_json_errors on; server_tokens off; ${
                options.http ?? ''}` });
        const import_ = path.join(store.dir, 'pets.ndjson');
        fs.writeFileSync(import_, pets);
        await store.ctl('pet', 'import', import_);
        const key = await store.createKey(keys);
        stores.set(name, { store, key });
        await prepare?.(store, key);
    }
    const { store, key } = stores.get(name);
    return { store, key: setup ? key : await store.createKey() };
}

async function list(store, key) {
    const response = await fetch(`${store.url}/v1/pets`,
        { headers: { Authorization: `Bearer ${key}` } });
    return response.text();
}

async function create(store, key, base = '/v1') {
    const response = await fetch(`${store.url}${base}/pets`, { method: 'POST',
        headers: { Authorization: `Bearer ${key}`,
            'Content-Type': 'application/json' },
        body: '{"name":"Kim","categoryId":7}' });
    return response.text();
}

async function redis(store, ...commands) {
    for (const command of commands) {
        const answer = await raw(net.connect(store.redisPort, store.address),
            `${command}\r\n`, (text) => text.endsWith('\r\n'));
        assert.match(answer, /^[+:]/);
    }
}

// Sends bytes. Returns what has arrived once complete(text) is true or the
// server closes.
function raw(socket, bytes, complete) {
    return new Promise((resolve, reject) => {
        let text = '';
        socket.write(bytes);
        socket.setEncoding('utf8');
        socket.on('data', (piece) => {
            text += piece;
            if (complete(text)) {
                socket.destroy();
                resolve(text);
            }
        });
        socket.on('end', () => resolve(text));
        socket.on('error', reject);
    });
}

function isComplete(text) {
    const [head, body] = text.split('\r\n\r\n');
    const length = /^content-length: (\d+)/im.exec(head)?.[1];
    return body !== undefined && (/^HTTP\/1.1 (204|304)/.test(head)
        || (length !== undefined && Buffer.byteLength(body) >= Number(length)));
}

// Removes what differs between runs, and the order of headers, which differs
// between versions of nginx.
function normal(response) {
    const [head, ...body] = response.trimEnd().split('\n\n');
    const text = body.join('\n\n');
    // A message with a number of seconds varies in length.
    const lengths = /Retry in|cursor=/.test(text) ? /^(Content-Length): .*/gm
        : /$^/;
    const [status, ...headers] = head
        .replace(/^(Date|ETag|X-RateLimit-Reset|Server): .*/gm, '$1: …')
        .replace(/^(X-RateLimit-Remaining): [1-9]\d*$/gm, '$1: …')
        .replace(/^(Retry-After): (?!1$)\d+$/gm, '$1: …')
        .replace(lengths, '$1: …')
        .replace(/cursor=[\w-]+/g, 'cursor=…').split('\n');
    const values = text
        .replace(/"(account|last_used)":"[\w-]+"/g, '"$1":…')
        .replace(/"reset":\d+/g, '"reset":…');
    return `${[status, ...headers.sort()].join('\n')}\n\n${
        values.replace(/Retry in \d+ second(s?)/g, 'Retry in … seconds')}`;
}

const blocks = pages.flatMap((page) => [...page.text.matchAll(
    /^```http request ?([\w-]*)\n(.*?)^```\n(.*?)^```http response\n(.*?)^```$/gms)]
    .map(({ index, 0: text, 1: setup, 2: request, 3: between, 4: response }) =>
        ({ page, setup, request, between, response,
            start: index + text.length - '```'.length - response.length })));
const updates = []; // { page, start, end, text }

describe('exchanges', { concurrency: 1 }, () => {
    for (const { page, setup, request, between, response, start } of blocks) {
        test(`${setup} ${request.split('\n')[0]}`, async () => {
            assert.ok(setups[setup], `no setup ${setup}`);
            assert.equal(between.trim(), '', 'a response follows its request');
            const { store, key } = await storeFor(setup);
            const [head, body = ''] = request.split(/\n\n/);
            const etag = request.includes('<ETAG>') && (await fetch(
                `${store.url}/v1/openapi.json`)).headers.get('etag');
            const bytes = `${head.trimEnd().replaceAll('\n', '\r\n')
                .replaceAll('<ETAG>', etag)
                .replaceAll('<API_KEY>', key).replace('…', 'x'.repeat(9000))
            }\r\n\r\n${body.trimEnd()}`;
            const socket = setups[setup].connect?.(store.address)
                ?? net.connect(store.port, store.address);
            const answer = (await raw(socket, bytes, isComplete))
                .replaceAll('\r\n', '\n');
            if (process.env.PETSTORE_UPDATE_DOCS) {
                if (normal(answer) !== normal(response)) {
                    updates.push({ page, start, end: start + response.length,
                        text: `${answer.trimEnd()}\n` });
                }
                return;
            }
            assert.equal(normal(response), normal(answer));
        });
    }
});

// Rows "| status | `code` | …" of the table of errors. A row may have two
// statuses.
const rows = [...catalogue.text.matchAll(/^\| (\d{3}(?:, \d{3})*) \| \[`(\w+)`\]/gm)]
    .map(([, statuses, code]) => statuses.split(', ')
        .map((status) => `${status} ${code}`));

test('the table of errors and the exchanges have the same errors', () => {
    const shown = blocks.filter(({ page, response }) => page === catalogue
        && /^HTTP\/1.1 [45]/.test(response))
        .map(({ response }) => `${/ (\d{3}) /.exec(response)[1]} ${
            /^\{"code":"(\w+)"/m.exec(response)?.[1]}`);
    assert.deepEqual(shown.sort(), rows.map(([first]) => first).sort());
});

test('the table has every error of the OpenAPI document', async () => {
    const { store } = await storeFor('');
    const document = await (await fetch(`${store.url}/v1/openapi.json`)).json();
    const listed = new Set(rows.flat());
    for (const item of Object.values(document.paths)) {
        for (const { responses } of Object.values(item)) {
            for (const [status, { content }] of Object.entries(responses)) {
                // A 304 has no content.
                const codes = content?.['application/json'].schema.allOf?.[1]
                    .properties.code.enum ?? [];
                for (const code of codes) {
                    assert.ok(listed.has(`${status} ${code}`),
                        `${status} ${code} is not in ${catalogue.name}`);
                }
            }
        }
    }
});

after(() => {
    if (process.env.PETSTORE_UPDATE_DOCS) {
        for (const page of pages) {
            fs.writeFileSync(page.file, updates.filter((update) => update.page === page)
                .reverse().reduce((text, { start, end, text: answer }) =>
                    text.slice(0, start) + answer + text.slice(end), page.text));
        }
    }
});
