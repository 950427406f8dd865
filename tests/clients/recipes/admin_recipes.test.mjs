// Runs the back ends of docs/admin.md behind Prism, which checks what they send
// and get against the document of the admin API. Their types are generated from
// that document, and checked by a compiler.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';

import { startPrism } from '../contract/prism.mjs';
import { fetchAdminDocument } from '../support/document.mjs';
import { address, freePort, root, Server, startStore, waitUntil }
    from '../support/store.mjs';
import { refusal, startStub } from '../support/stub.mjs';

const run = promisify(execFile);
const examples = path.join(root, 'docs/examples');
const base = '/admin/v1';

// Debian's packages are not in a Python that was installed beside it.
const python = '/usr/bin/python3';

let store;
let adminKey;
let document;
let prism;
let build;

const bin = (name) => path.join(root, 'tests/clients/node_modules/.bin', name);

// As docs/admin.md does it.
async function makePythonTypes(of) {
    fs.writeFileSync(path.join(build, 'admin.json'), JSON.stringify(of));
    const names = ['Account', 'AccountChange', 'AccountUsage', 'KeyCreation',
        'NewKey'];
    await run(process.execPath, [bin('quicktype'), '--lang', 'python',
        '--python-version', '3.7', '--src-lang', 'schema',
        '-o', 'petstore_admin.py',
        ...names.map((name) => `admin.json#/components/schemas/${name}`)],
    { cwd: build });
}

before(async () => {
    store = await startStore({
        server: `location ${base}/ { petstore_admin; }` });
    adminKey = await store.createKey({ scopes: 'admin', plan: 'enterprise',
        perMinute: 100000, perDay: 100000 });
    document = await fetchAdminDocument(store, adminKey);
    prism = await startPrism(document, store.url + base,
        path.join(store.dir, 'admin.json'), ['--errors']);

    // With its own folder below node_modules, the example finds its packages.
    build = path.join(root, 'tests/clients/node_modules',
        `.admin-recipes-${process.pid}`);
    fs.mkdirSync(build);
    for (const name of ['sign-up.mjs', 'sign_up.py']) {
        fs.copyFileSync(path.join(examples, name), path.join(build, name));
    }
    await makePythonTypes(document);
});
after(async () => {
    fs.rmSync(build, { recursive: true, force: true });
    await prism?.stop();
    await store.stop();
});

const environment = (url) =>
    [`PETSTORE_ADMIN=${url}`, `PETSTORE_ADMIN_KEY=${adminKey}`,
        'PYTHONDONTWRITEBYTECODE=1'];

// Each back end has a url, stop(), and near(percent): its list of customers.
async function javascript(url) {
    const port = await freePort();
    const program = `import { app, nearLimit } from './sign-up.mjs';
        app.get('/near/:percent', async ({ params: { percent } }) => {
            const found = [];
            for await (const one of nearLimit(percent)) found.push(one);
            return found;
        });
        await app.listen({ host: '${address}', port: ${port} });`;
    const file = path.join(build, `serve-${port}.mjs`);
    fs.writeFileSync(file, program);
    const server = new Server(store.dir, 'env',
        [...environment(url), process.execPath, file]);
    await server.listens(port);
    return {
        url: `http://${address}:${port}`,
        near: async (percent) => (await fetch(
            `http://${address}:${port}/near/${percent}`)).json(),
        stop: () => server.end('SIGTERM'),
    };
}

async function flask(url) {
    const port = await freePort();
    const server = new Server(store.dir, 'env', [...environment(url), python,
        '-m', 'flask', '--app', path.join(build, 'sign_up.py'), 'run',
        '--host', address, '--port', String(port)]);
    await server.listens(port);
    return {
        url: `http://${address}:${port}`,
        near: async (percent) => JSON.parse((await run('env',
            [...environment(url), python, '-c',
                'import json, sign_up; '
                + `print(json.dumps(list(sign_up.near_limit(${percent}))))`],
            { cwd: build })).stdout),
        stop: () => server.end('SIGTERM'),
    };
}

async function ask(backEnd, method, target, body, once) {
    const response = await fetch(backEnd.url + target, { method,
        body: body && JSON.stringify(body),
        headers: { ...body && { 'Content-Type': 'application/json' },
            ...once && { 'Idempotency-Key': once } } });
    return { status: response.status, data: await response.json() };
}

for (const [name, start] of Object.entries({ javascript, flask })) {
    describe(name, () => {
        const customer = `customer-of-${name}`;
        let backEnd;
        before(async () => { backEnd = await start(prism.url); });
        after(() => backEnd.stop());

        test('signs up a customer, whose key works at once', async () => {
            const signUp = (once) => ask(backEnd, 'POST',
                `/customers/${customer}`, undefined, once);
            const { status, data } = await signUp('first');
            assert.equal(status, 201, JSON.stringify(data));
            const pets = await fetch(`${store.url}/v1/pets`,
                { headers: { Authorization: `Bearer ${data.key}` } });
            assert.equal(pets.status, 200);

            // Not a second account or key; the secret is shown once.
            const again = await signUp('first');
            assert.equal(again.status, 201);
            assert.equal(again.data.key ?? null, null);
            assert.equal((await signUp()).status, 409);
            const keys = JSON.parse(await store.ctl('key', 'list', '--json',
                '--external-id', customer));
            assert.equal(keys.length, 1);
        });

        test('signs up a customer who left and comes back', async () => {
            const signUp = (once) => ask(backEnd, 'POST',
                `/customers/back-${name}`, undefined, once);
            assert.ok((await signUp('before')).data.key);
            const [{ id }] = JSON.parse(await store.ctl('key', 'list',
                '--json', '--external-id', `back-${name}`));
            await store.ctl('key', 'delete', '--yes', id);
            await store.ctl('account', 'delete', '--yes', '--external-id',
                `back-${name}`);
            const { status, data } = await signUp('after');
            assert.equal(status, 201, JSON.stringify(data));
            assert.ok(data.key);
        });

        test('changes the plan', async () => {
            const { status, data } = await ask(backEnd, 'PUT',
                `/customers/${customer}/plan`, { plan: 'business' });
            assert.equal(status, 200, JSON.stringify(data));
            assert.equal(data.plan, 'business');
            const wrong = await ask(backEnd, 'PUT',
                `/customers/${customer}/plan`, { plan: 'nobody' });
            assert.equal(wrong.status, 400);
            const nobody = await ask(backEnd, 'PUT',
                '/customers/nobody/plan', { plan: 'pro' });
            assert.equal(nobody.status, 404);
        });

        test('shows the usage', async () => {
            await waitUntil(async () => {
                const { status, data } = await ask(backEnd, 'GET',
                    `/customers/${customer}/usage`);
                assert.equal(status, 200, JSON.stringify(data));
                return data.days.at(-1).admitted === 1;
            }, 'the admitted request is in the usage');
            assert.equal((await ask(backEnd, 'GET', '/customers/nobody/usage'))
                .status, 404);
        });

        test('finds who used 80 %, on all pages', async () => {
            // More accounts than a page has.
            for (let i = 0; i < 105; ++i) {
                await store.ctl('account', 'create', '--external-id',
                    `${name}-idle-${i}`);
            }
            const { data: { key } } = await ask(backEnd, 'POST',
                `/customers/busy-${name}`);
            await store.ctl('account', 'set', '--external-id', `busy-${name}`,
                '--per-minute', '100', '--per-day', '10');
            await waitUntil(async () => (await fetch(`${store.url}/v1/pets`,
                { headers: { Authorization: `Bearer ${key}` } })).status === 429,
            'a limit is used up');
            assert.ok((await backEnd.near(80)).includes(`busy-${name}`));
            // A minute that is used up is whole again before a mail is read.
            await store.ctl('account', 'set', '--external-id', customer,
                '--per-minute', '1');
            const spare = JSON.parse(await store.ctl('key', 'create',
                '--external-id', customer, '--json'));
            await fetch(`${store.url}/v1/pets`,
                { headers: { Authorization: `Bearer ${spare.key}` } });
            assert.ok(!(await backEnd.near(80)).includes(customer));
            assert.ok((await backEnd.near(0)).includes(`${name}-idle-104`));
        });
    });

    test(`${name} repeats what fails, with the same Idempotency-Key`, async () => {
        const created = async (...words) => ({ status: 201, headers: {},
            body: JSON.parse(await store.ctl(...words, '--json')) });
        const newKey = await created('key', 'create');
        const stub = await startStub([refusal(429, 'rate_limit_exceeded', 1),
            await created('account', 'create'),
            refusal(503, 'outcome_unknown', 1), newKey]);
        const backEnd = await start(stub.url);
        const { status, data } = await ask(backEnd, 'POST', '/customers/c1');
        assert.equal(status, 201, JSON.stringify(data));
        assert.ok(data.key);
        assert.equal(data.key, newKey.body.key);
        const [account, same, key, again] = stub.requests.map((request) =>
            [request.url, request.headers['idempotency-key'], request.body]);
        assert.equal(stub.requests.length, 4);
        assert.deepEqual(same, account);
        assert.deepEqual(again, key);
        assert.ok(account[1] && key[1] && account[1] !== key[1]);
        await backEnd.stop();
        await stub.stop();
    });
}

// Fails unless a member that the document has lost makes the compiler fail.
async function checkCompilation(compile, complaint) {
    await compile(document);
    const broken = structuredClone(document);
    const { AccountUsage } = broken.components.schemas;
    delete AccountUsage.properties.windows;
    AccountUsage.required = AccountUsage.required
        .filter((member) => member !== 'windows');
    await assert.rejects(compile(broken), ({ stdout }) => complaint.test(stdout));
}

test('the one in JavaScript compiles with the document\'s types', async () => {
    // Replaces the types of Node.js.
    fs.writeFileSync(path.join(build, 'environment.d.ts'), 'declare const process:'
        + ' { argv: string[], env: Record<string, string | undefined> };');
    fs.writeFileSync(path.join(build, 'tsconfig.json'), JSON.stringify({
        compilerOptions: { strict: true, allowJs: true, checkJs: true,
            noEmit: true, target: 'es2022', module: 'nodenext', types: [],
            lib: ['es2022', 'dom', 'dom.iterable'], skipLibCheck: true,
            paths: { 'petstore-admin': ['./petstore-admin.d.ts'] } },
        files: ['sign-up.mjs', 'environment.d.ts'] }));
    await checkCompilation(async (of) => {
        fs.writeFileSync(path.join(build, 'admin.json'), JSON.stringify(of));
        await run(process.execPath, [bin('openapi-typescript'), 'admin.json',
            '-o', 'petstore-admin.d.ts'], { cwd: build });
        return run(process.execPath, [bin('tsc'), '-p', '.'], { cwd: build });
    }, /'windows' does not exist/);
});

test('the one in Python passes mypy with the document\'s types', async () => {
    await checkCompilation(async (of) => {
        await makePythonTypes(of);
        // Not all of its libraries have types.
        return run('/usr/bin/mypy', ['--python-executable', python,
            '--cache-dir', path.join(build, 'mypy-cache'),
            '--ignore-missing-imports', 'sign_up.py'], { cwd: build });
    }, /no attribute "windows"/);
});

test('each takes at most 60 lines', () => {
    for (const name of ['sign-up.mjs', 'sign_up.py']) {
        const text = fs.readFileSync(path.join(examples, name), 'utf8');
        assert.ok(text.trimEnd().split('\n').length <= 60, name);
    }
});
