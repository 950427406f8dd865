// Runs the code in docs/recipes.md against a stub and the module. check-docs
// runs the page's commands.

import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import readline from 'node:readline';
import { after, before, describe, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';

import { root, startStore, waitUntil } from '../support/store.mjs';
import { refusal, startStub } from '../support/stub.mjs';

const run = promisify(execFile);
const examples = path.join(root, 'docs/examples');
const page = fs.readFileSync(path.join(root, 'docs/recipes.md'), 'utf8');

// Below node_modules, so that the example finds its package.
const copies = path.join(root, 'tests/clients/node_modules/.recipes');
fs.mkdirSync(copies, { recursive: true });
const octokitCopy = path.join(copies, `octokit-${process.pid}.mjs`);
fs.copyFileSync(path.join(examples, 'octokit.mjs'), octokitCopy);
after(() => fs.rmSync(octokitCopy));
const octokit = await import(pathToFileURL(octokitCopy).href);
const { Petstore } = await import(
    pathToFileURL(path.join(examples, 'petstore.mjs')).href);

async function all(iterable) {
    const items = [];
    for await (const item of iterable) {
        items.push(item);
    }
    return items;
}

// Each client has create(pet) and list(filters), and calls sleep(seconds)
// instead of waiting. Its errors have the service's `code`.
function javascript(url, key, sleep) {
    const store = new Petstore(url, key);
    store.sleep = sleep;
    return {
        create: (pet) => store.createPet(pet),
        list: (filters) => all(store.listPets(filters)),
        stop() {},
    };
}

function withOctokit(url, key, sleep) {
    const client = octokit.petstore(url, key, sleep);
    const code = (error) => {
        throw Object.assign(error, { code: error.response?.data?.code });
    };
    return {
        create: (pet) => octokit.createPet(client, pet).catch(code),
        list: (filters) => all(octokit.listPets(client, filters)).catch(code),
        stop() {},
    };
}

function python(url, key, sleep) {
    const child = spawn('python3',
        [path.join(root, 'tests/clients/recipes/client.py'), examples, url, key],
        { stdio: ['pipe', 'pipe', 'inherit'] });
    const lines = readline.createInterface({ input: child.stdout })[
        Symbol.asyncIterator]();
    async function call(name, args) {
        child.stdin.write(`${JSON.stringify({ call: name, arguments: args })}\n`);
        for (;;) {
            const { value, done } = await lines.next();
            assert.ok(!done, 'client.py ended');
            const message = JSON.parse(value);
            if (message.error !== undefined) {
                throw Object.assign(new Error(message.error),
                    { code: message.error });
            }
            if (message.result !== undefined) {
                return message.result;
            }
            await sleep(message.sleep);
            child.stdin.write('\n');
        }
    }
    return {
        create: (pet) => call('create', pet),
        list: (filters) => call('list', filters),
        stop: () => child.stdin.end(),
    };
}

const kim = { name: 'Kim', categoryId: 7 };
const created = { status: 201, headers: {}, body: { id: 1, ...kim } };

test('the page shows the example files unchanged', () => {
    const blocks = [...page.matchAll(/^```\w+ (docs\/\S+)\n(.*?)^```$/gms)];
    assert.deepEqual(blocks.map(([, name]) => name).sort(),
        ['docs/examples/octokit.mjs', 'docs/examples/petstore.mjs',
            'docs/examples/petstore.py']);
    for (const [, name, text] of blocks) {
        assert.equal(text, fs.readFileSync(path.join(root, name), 'utf8'), name);
    }
});

for (const [name, client] of Object.entries({ python, javascript,
    octokit: withOctokit })) {
    describe(name, () => {
        let stub;
        let waits;
        // A client of a stub with these responses.
        async function against(t, responses) {
            stub = await startStub(responses);
            waits = [];
            const store = client(stub.url, 'a-key',
                (seconds) => { waits.push(seconds); });
            t.after(async () => {
                store.stop();
                await stub.stop();
            });
            return store;
        }

        test('retries a create with the same key after Retry-After',
            async (t) => {
                const store = await against(t, [
                    refusal(429, 'rate_limit_exceeded', 42),
                    refusal(503, 'service_unavailable', 1),
                    refusal(503, 'outcome_unknown', 3),
                    created]);
                assert.equal((await store.create(kim)).id, 1);
                assert.deepEqual(waits, [42, 1, 3]);
                assert.equal(stub.requests.length, 4);
                const [{ headers, body }] = stub.requests;
                assert.match(headers['idempotency-key'], /^[\w-]{36}$/);
                assert.deepEqual(JSON.parse(body), kim);
                for (const request of stub.requests) {
                    assert.equal(request.headers['idempotency-key'],
                        headers['idempotency-key']);
                    assert.equal(request.headers.authorization, 'Bearer a-key');
                    assert.equal(request.body, body);
                }
            });

        test('uses a different Idempotency-Key for each pet', async (t) => {
            const store = await against(t, [created, created]);
            await store.create(kim);
            await store.create(kim);
            const [one, two] = stub.requests;
            assert.notEqual(one.headers['idempotency-key'],
                two.headers['idempotency-key']);
        });

        test('gives up after five attempts', async (t) => {
            const store = await against(t,
                Array(6).fill(refusal(503, 'service_unavailable', 1)));
            await assert.rejects(store.list({}),
                { code: 'service_unavailable' });
            assert.equal(stub.requests.length, 5);
        });

        test('gives up at once if Retry-After is an hour', async (t) => {
            const store = await against(t, [refusal(429, 'api_key_banned', 3600)]);
            await assert.rejects(store.list({}), { code: 'api_key_banned' });
            assert.deepEqual(waits, []);
        });

        test('pauses if a proxy sends no seconds', async (t) => {
            const store = await against(t, [
                refusal(502, '', 'Sun, 29 Nov 2026 12:00:00 GMT'),
                refusal(504, ''), created]);
            assert.equal((await store.create(kim)).id, 1);
            assert.deepEqual(waits, [1, 2]);
        });

        test('does not retry errors that would recur', async (t) => {
            const store = await against(t, [refusal(400, 'invalid_field')]);
            await assert.rejects(store.create(kim), { code: 'invalid_field' });
            assert.equal(stub.requests.length, 1);
        });

        test('repeats a request whose connection breaks', async (t) => {
            const store = await against(t, [null, created]);
            assert.equal((await store.create(kim)).id, 1);
            assert.equal(waits.length, 1);
            const [one, two] = stub.requests;
            assert.equal(one.headers['idempotency-key'],
                two.headers['idempotency-key']);
        });
    });
}

describe('with the module', () => {
    const pets = 250;
    let store;

    before(async () => {
        store = await startStore();
        const file = path.join(store.dir, 'pets.ndjson');
        fs.writeFileSync(file, Array.from({ length: pets }, (_, i) =>
            `${JSON.stringify({ name: `pet ${i + 1}`, categoryId: i,
                status: i % 100 === 0 ? 'sold' : 'available' })}\n`).join(''));
        await store.ctl('pet', 'import', file);
    });
    after(() => store.stop());

    for (const [name, client] of Object.entries({ python, javascript,
        octokit: withOctokit })) {
        test(`${name}: lists, creates and waits for a real 429`, async (t) => {
            const key = await store.createKey({ perMinute: 3, perDay: 100 });
            const waits = [];
            const id = JSON.parse(await store.ctl('key', 'list', '--json'))
                .find(({ last4 }) => key.endsWith(last4)).id;
            // Instead of sleeping for up to a minute, waits until the operator
            // has raised the limit.
            const shop = client(store.url, key, async (seconds) => {
                waits.push(seconds);
                await store.ctl('key', 'set', id, '--per-minute', '1000',
                    '--per-day', '5000');
                await waitUntil(async () => (await fetch(
                    `${store.url}/v1/pets?limit=1`,
                    { headers: { Authorization: `Bearer ${key}` } })).ok,
                'the new limit has taken effect');
            });
            t.after(() => shop.stop());
            const rows = await shop.list({}); // at least three requests
            assert.deepEqual(rows.slice(0, pets).map((pet) => pet.name),
                Array.from({ length: pets }, (_, i) => `pet ${i + 1}`));
            assert.equal(new Set(rows.map((pet) => pet.id)).size, rows.length);
            assert.deepEqual(waits, [], 'three pages fit into the limit');

            const pet = await shop.create(kim);
            assert.equal(waits.length, 1, 'the fourth request was refused');
            assert.ok(waits[0] >= 1 && waits[0] <= 60, `waits ${waits[0]} s`);
            assert.equal(pet.name, 'Kim');
            const sold = await shop.list({ status: 'sold' });
            assert.deepEqual(sold.map(({ id: number }) => number), [1, 101, 201]);
            await assert.rejects(shop.create({ ...kim, name: '' }),
                { code: 'invalid_field' });
            await assert.rejects(shop.list({ status: 'lost' }),
                { code: 'invalid_parameter' });
        });
    }

    for (const [command, file] of [['python3', 'petstore.py'],
        [process.execPath, 'petstore.mjs']]) {
        test(`${file} as a program`, async () => {
            const env = { ...process.env, PETSTORE_URL: store.url,
                PETSTORE_KEY: await store.createKey() };
            const { stdout } = await run(command,
                [path.join(examples, file)], { env });
            assert.match(stdout, new RegExp([
                /^created Kim as number \d+/, /sold: pet 1, pet 101, .*Kim/,
                /not created: 400 invalid_field: name must not be empty\.\n$/,
            ].map((line) => line.source).join('\n')));
        });
    }
});

test('petstore.mjs can be imported where there is no program', () =>
    run(process.execPath, ['--input-type=module', '--eval',
        `import '${pathToFileURL(path.join(examples, 'petstore.mjs'))}';`]));

test('curl waits for the time in Retry-After', async () => {
    const blocks = [...page.matchAll(/^```sh\n(.*?)^```$/gms)];
    const [, block] = blocks.find(([, text]) => text.includes('Idempotency-Key'));
    const stub = await startStub([refusal(429, 'rate_limit_exceeded', 2),
        refusal(503, 'outcome_unknown', 1), created]);
    const start = process.hrtime.bigint();
    const { stdout } = await run('bash', ['-euc',
        block.replaceAll('http://127.0.0.1:8080', stub.url)],
    { env: { ...process.env, PETSTORE_KEY: 'a-key' } });
    const seconds = Number(process.hrtime.bigint() - start) / 1e9;
    assert.ok(seconds >= 3, `waited ${seconds} s`);
    assert.match(stdout, /"name":"Kim"/);
    assert.equal(stub.requests.length, 3);
    for (const { headers, body } of stub.requests) {
        assert.equal(headers['idempotency-key'], 'order-1097');
        assert.equal(body, '{"name":"Kim","categoryId":7}');
    }
    await stub.stop();
});
