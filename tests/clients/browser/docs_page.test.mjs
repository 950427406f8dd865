// The documentation page in a browser, served by the shipped configurations.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import { createRequire } from 'node:module';
import os from 'node:os';
import path from 'node:path';
import { after, afterEach, before, test } from 'node:test';

import { foreign, launch, openPage } from '../support/browser.mjs';
import { freePort, root, startStore, waitUntil } from '../support/store.mjs';

const configurations = ['nginx-conf/quickstart.conf',
    'nginx-conf/production.conf', 'nginx-conf/container.conf',
    'debian/site.conf'];

// The locations /docs and /docs/ of a shipped configuration.
function locations(file) {
    const found = fs.readFileSync(path.join(root, file), 'utf8').match(
        /^( *)location = \/docs \{[^]*?^\1location \/docs\/ \{[^]*?^\1\}\n/m);
    assert.ok(found, file);
    return found[0].replace(/^ +/gm, '');
}

let build;
let browser;
let store;
let elsewhere;
let withHeader;
let key;

before(async () => {
    build = fs.mkdtempSync(path.join(os.tmpdir(), 'petstore-docs-page-'));
    fs.chmodSync(build, 0o755);
    execFileSync(path.join(root, 'scripts/docs'),
        { env: { ...process.env, PETSTORE_BUILD_DIR: build } });
    const docs = locations(configurations[0])
        .replace('alias docs/', `alias ${build}/docs/`);
    const port = await freePort();
    const headerPort = await freePort();
    store = await startStore({
        server: docs,
        servers: `server {
            listen %ADDRESS%:${port};
            location /animals/v1/ {
                petstore /animals/v1;
                petstore_base_url http://%ADDRESS%:${port};
            }
            ${docs.replace('gzip_static', `sub_filter ../v1/openapi.json
                /animals/v1/openapi.json; sub_filter_once off; gzip_static`)}
        }
        server {
            listen %ADDRESS%:${headerPort};
            petstore_key_header X-API-Key;
            location /v1/ { petstore; }
            ${docs}
        }`,
    });
    elsewhere = `http://${store.address}:${port}`;
    withHeader = `http://${store.address}:${headerPort}`;
    key = await store.createKey({ plan: 'business' });
    for (const name of ['Rex', 'Bella']) {
        const response = await fetch(`${store.url}/v1/pets`, {
            method: 'POST',
            headers: { authorization: `Bearer ${key}`,
                'content-type': 'application/json' },
            body: JSON.stringify({ name, categoryId: 7 }),
        });
        assert.equal(response.status, 201);
    }
    browser = await launch();
});

// Shows the problems of pages that a failed test has left open.
let opened = [];
afterEach(async () => {
    for (const page of opened.filter((each) => !each.isClosed())) {
        console.error('Problems of the page:', page.seen.problems);
        await page.browserContext().close();
    }
    opened = [];
});

after(async () => {
    await browser?.close();
    fs.rmSync(build, { recursive: true, force: true });
    await store?.stop();
});

async function open(options) {
    const page = await openPage(browser, options);
    opened.push(page);
    return page;
}

// Opens the page and waits for the operations.
async function openDocs(options, url = store.url) {
    const page = await open(options);
    await page.goto(`${url}/docs`);
    await page.waitForSelector('.opblock');
    return page;
}

const operation = (name) => `[id^=operations-][id$=-${name}]`;

// Checks that the page had only the expected problems and requested nothing
// from other origins.
async function finish(page, expected = [], origin = store.url) {
    assert.deepEqual(page.seen.problems, expected);
    assert.deepEqual(foreign(page, origin), []);
    await page.browserContext().close();
}

async function enterKey(page, value) {
    await page.click('.btn.authorize');
    await page.type('#auth-bearer-value', value);
    await page.keyboard.press('Enter');
    await page.waitForSelector('.auth-btn-wrapper ::-p-text(Logout)');
    await page.keyboard.press('Escape');
    await page.waitForSelector('[role=dialog]', { hidden: true });
}

// Sends an operation's request and returns the response.
async function execute(page, name) {
    const block = operation(name);
    if (!await page.$(`${block} [aria-expanded=true]`)) {
        await page.click(`${block} .opblock-summary-control`);
    }
    await page.waitForSelector(`${block} .execute:enabled`);
    await page.click(`${block} .execute`);
    return response(page, name);
}

// Waits for an operation's response. Returns it as shown on the page.
async function response(page, name) {
    const block = operation(name);
    await page.waitForSelector(`${block} .live-responses-table pre`);
    return page.$eval(`${block} .live-responses-table`, (table) => ({
        status: Number(table.querySelector('tbody .response-col_status')
            .textContent.match(/\d+/)[0]),
        text: table.textContent,
    }));
}

const apiLog = () => store.accessLog().split('\n')
    .filter((line) => line.includes('/pets'));

const luminance = (page) => page.evaluate(() => {
    const [r, g, b] = getComputedStyle(document.documentElement)
        .backgroundColor.match(/[\d.]+/g).map(Number);
    return getComputedStyle(document.documentElement).backgroundColor
        === 'rgba(0, 0, 0, 0)' ? 255 : (r + g + b) / 3;
});

test('the shipped configurations serve the page alike', () => {
    const [first, ...others] = configurations.map((file) =>
        locations(file).replace(/alias .*;/, ''));
    for (const other of others) {
        assert.equal(other, first);
    }
});

for (const scheme of ['light', 'dark']) {
    test(`shows all operations, ${scheme}`, async () => {
        const page = await openDocs({ scheme });
        for (const name of ['listPets', 'createPet', 'getPet']) {
            await page.click(`${operation(name)} .opblock-summary-control`);
            await page.waitForSelector(`${operation(name)} .responses-table`);
        }
        assert.equal((await page.$$('.opblock')).length, 3);
        assert.ok(await page.$(`${operation('getPet')}.opblock-deprecated`));
        assert.equal(await luminance(page) < 128, scheme === 'dark');
        await finish(page);
    });
}

const axe = createRequire(import.meta.url).resolve('axe-core/axe.min.js');

// What axe-core says of texts with too little contrast, once for each kind.
async function paleTexts(page) {
    await page.evaluate(fs.readFileSync(axe, 'utf8'));
    const { violations, passes } = await page.evaluate(() => window.axe.run(
        { runOnly: ['color-contrast'] }));
    assert.ok(passes[0].nodes.length > 10);
    return [...new Set(violations.flatMap(({ nodes }) => nodes.map(
        ({ html, any: [{ data }] }) => `${html.match(/<[^>]*>/)[0]} has `
            + `${data.fgColor} on ${data.bgColor}: ${data.contrastRatio}`)))];
}

// Shows all operations in full, one with a response, and all schemas.
async function openEverything(page) {
    for (const name of ['createPet', 'getPet']) {
        await page.click(`${operation(name)} .opblock-summary-control`);
        await page.waitForSelector(`${operation(name)} .responses-table`);
    }
    await execute(page, 'listPets');
    await page.$$eval('[aria-expanded=false]', (buttons) => {
        for (const button of buttons) {
            button.click();
        }
    });
}

for (const scheme of ['light', 'dark']) {
    test(`every text has a contrast of 4.5:1, ${scheme}`, async () => {
        const page = await openDocs({ scheme });
        await enterKey(page, key);
        await openEverything(page);
        assert.deepEqual(await paleTexts(page), []);
        await page.click('.btn.authorize');
        await page.waitForSelector('[role=dialog]');
        assert.deepEqual(await paleTexts(page), []);

        await page.$eval('[role=dialog] .btn', (button) => {
            button.style.transition = 'none';  // else it changes slowly
            // Two colours: of a text in the colour of its background axe-core
            // says that it cannot tell.
            button.style.color = '#777';
            button.style.backgroundColor = '#888';
        });
        assert.notDeepEqual(await paleTexts(page), [], 'a mistake is noticed');
        await finish(page);
    });
}

test('an operation in full is less than 4,000 pixels high', async () => {
    const page = await openDocs();
    for (const name of ['listPets', 'createPet', 'getPet']) {
        await page.click(`${operation(name)} .opblock-summary-control`);
        await page.waitForSelector(`${operation(name)} .responses-table`);
        const { height } = await (await page.$(operation(name))).boundingBox();
        assert.ok(height < 4000, `${name}: ${height}`);
    }
    await finish(page);
});

test('the theme follows the system until the reader chooses', async () => {
    const page = await openDocs({ scheme: 'light' });
    const isDark = async () => await luminance(page) < 128;
    const system = (value) => page.emulateMediaFeatures(
        [{ name: 'prefers-color-scheme', value }]);
    await system('dark');
    await waitUntil(isDark, 'dark as the system is');
    await page.select('#theme', 'light');
    assert.equal(await isDark(), false);
    await page.reload();
    await page.waitForSelector('.opblock');
    assert.equal(await isDark(), false);
    assert.equal(await page.$eval('#theme', ({ value }) => value), 'light');
    await page.select('#theme', '');
    assert.equal(await isDark(), true);
    await finish(page);
});

test('try it: a pasted key lists the pets of the store', async () => {
    const page = await openDocs();
    await enterKey(page, key);
    const before = apiLog().length;
    const { status, text } = await execute(page, 'listPets');
    assert.equal(status, 200);
    assert.match(text, /Rex/);
    assert.match(text, /Bella/);
    assert.match(text, /x-ratelimit-remaining/);
    const lines = apiLog().slice(before);
    assert.equal(lines.length, 1);
    // Optional parameters have only their default values.
    assert.match(lines[0], /"GET \/v1\/pets(\?limit=20)? HTTP\/1.1" 200 /);
    await finish(page);
});

test('try it: creates a pet and gets it', async () => {
    const page = await openDocs();
    await enterKey(page, key);
    const created = await execute(page, 'createPet');
    assert.equal(created.status, 201);
    assert.equal(page.seen.requests.find(({ method }) => method === 'POST')
        .headers['idempotency-key'], undefined);
    const id = created.text.match(/"id": (\d+)/)[1];
    await page.click(`${operation('getPet')} .opblock-summary-control`);
    const field = `${operation('getPet')} [data-param-name=petId] input`;
    await page.waitForSelector(field);
    await page.click(field, { count: 3 });
    await page.type(field, id);
    const got = await execute(page, 'getPet');
    assert.equal(got.status, 200);
    assert.match(got.text, new RegExp(`"id": ${id},`));
    await finish(page);
});

test('try it: a wrong key is a 401 with its body', async () => {
    const page = await openDocs();
    await enterKey(page, 'wrong');
    const { status, text } = await execute(page, 'listPets');
    assert.equal(status, 401);
    assert.match(text, /invalid_api_key/);
    await finish(page, ['Failed to load resource: the server responded with a '
        + 'status of 401 (Unauthorized)']);
});

test('try it: a request can be sent as soon as the button appears', async () => {
    const page = await openDocs();
    await enterKey(page, key);
    await page.evaluate((block) => {
        const observer = new MutationObserver(() => {
            const button = block.querySelector('.execute:enabled');
            if (button) {
                observer.disconnect();
                button.click();
            }
        });
        observer.observe(block,
            { attributes: true, childList: true, subtree: true });
        block.querySelector('.opblock-summary-control').click();
    }, await page.$(operation('listPets')));
    assert.equal((await response(page, 'listPets')).status, 200);
    await finish(page);
});

test('a key is kept in page memory only', async () => {
    const page = await openDocs();
    await page.click('.btn.authorize');
    const field = await page.$eval('#auth-bearer-value', (input) => ({
        autocomplete: input.autocomplete,
        spellcheck: input.spellcheck,
        shown: getComputedStyle(input).webkitTextSecurity,
    }));
    assert.deepEqual(field,
        { autocomplete: 'off', spellcheck: false, shown: 'disc' });
    await page.keyboard.press('Escape');
    await enterKey(page, key);
    assert.equal((await execute(page, 'listPets')).status, 200);

    const html = await page.content();
    assert.equal(html.includes(key), false);
    assert.match(html, /Bearer &lt;API_KEY&gt;/);
    const stored = await page.evaluate(() => JSON.stringify([
        { ...localStorage }, { ...sessionStorage }, document.cookie]));
    assert.equal(stored, '[{},{},""]');
    for (const { url, headers } of page.seen.requests) {
        assert.equal(url.includes(key), false);
        assert.ok(!headers.referer);
    }

    await page.reload();
    await page.waitForSelector('.opblock');
    assert.equal((await execute(page, 'listPets')).status, 401);
    assert.equal(page.seen.problems.length, 1);
    await page.browserContext().close();
});

test('a key in a header of its own is hidden, too', async () => {
    const page = await openDocs({}, withHeader);
    await page.click('.btn.authorize');
    const field = await page.$eval('#api_key_value', (input) => ({
        label: input.getAttribute('aria-label'),
        shown: getComputedStyle(input).webkitTextSecurity,
    }));
    assert.deepEqual(field, { label: 'API key', shown: 'disc' });
    await page.type('#api_key_value', key);
    await page.keyboard.press('Enter');
    await page.click('.close-modal');
    assert.equal((await execute(page, 'listPets')).status, 200);
    const html = await page.content();
    assert.equal(html.includes(key), false);
    assert.match(html, /X-API-Key: &lt;API_KEY&gt;/);
    await finish(page, [], withHeader);
});

test('everything can be operated by keyboard', async () => {
    const page = await openDocs();
    const tabTo = async (selector) => {
        for (let presses = 0; presses < 60; ++presses) {
            await page.keyboard.press('Tab');
            if (await page.evaluate((wanted) =>
                document.activeElement.matches(wanted), selector)) {
                return;
            }
        }
        assert.fail(`no way to ${selector}`);
    };
    await tabTo('#theme');
    await tabTo('.btn.authorize');
    await page.keyboard.press('Enter');
    await page.waitForSelector('[role=dialog] #auth-bearer-value:focus');
    await page.keyboard.type(key);
    await page.keyboard.press('Enter');
    await page.waitForSelector('.auth-btn-wrapper ::-p-text(Logout)');
    await tabTo('[role=dialog] button');
    await page.keyboard.press('Escape');
    await page.waitForSelector('[role=dialog]', { hidden: true });
    await page.waitForSelector('.btn.authorize:focus');
    await tabTo(`${operation('listPets')} .opblock-summary-control`);
    await page.keyboard.press('Enter');
    await page.waitForSelector(`${operation('listPets')} .execute:enabled`);
    await tabTo(`${operation('listPets')} .execute`);
    await page.keyboard.press('Enter');
    assert.match((await response(page, 'listPets')).text, /Rex/);
    await finish(page);
});

test('fits a phone, with a response', async () => {
    const page = await openDocs({ width: 390 });
    await enterKey(page, key);
    for (const name of ['listPets', 'createPet']) {
        await execute(page, name);
    }
    const { content, screen } = await page.evaluate(() => ({
        content: document.documentElement.scrollWidth,
        screen: innerWidth,
    }));
    assert.equal(screen, 390);
    assert.equal(content, 390);
    await finish(page);
});

test('the query string cannot select another document', async () => {
    const page = await open();
    const document = `${elsewhere}/animals/v1/openapi.json`;
    await page.goto(`${store.url}/docs/?url=${document}&configUrl=${document}`);
    await page.waitForSelector('.opblock');
    assert.ok(page.seen.requests.some(
        ({ url }) => url === `${store.url}/v1/openapi.json`));
    await finish(page);
});

test('another base path and base URL', async () => {
    const page = await open();
    await page.goto(`${elsewhere}/docs/`);
    await page.waitForSelector('.opblock');
    await enterKey(page, key);
    const { status } = await execute(page, 'listPets');
    assert.equal(status, 200);
    assert.match(apiLog().at(-1), /"GET \/animals\/v1\/pets/);
    await finish(page, [], elsewhere);
});

test('the renderer is sent compressed and checked again on each visit', async () => {
    const url = `${store.url}/docs/swagger-ui-bundle.js`;
    const first = await fetch(url, { headers: { 'accept-encoding': 'gzip' } });
    assert.equal(first.headers.get('content-encoding'), 'gzip');
    assert.equal(first.headers.get('cache-control'), 'no-cache');
    assert.ok(Number(first.headers.get('content-length')) < 600_000);
    await first.arrayBuffer();
    const again = await fetch(url, { headers: { 'accept-encoding': 'gzip',
        'if-none-match': first.headers.get('etag') } });
    assert.equal(again.status, 304);
});

test('/docs leads to /docs/ whatever the Host says', async () => {
    const response = await fetch(`${store.url}/docs`, { redirect: 'manual' });
    assert.equal(response.status, 301);
    assert.equal(response.headers.get('location'), '/docs/');
});

test('its Content-Security-Policy holds, and violations are noticed', async () => {
    const page = await openDocs();
    await page.evaluate(() => {
        const script = document.createElement('script');
        script.textContent = 'window.ran = true';
        document.body.append(script);
    });
    await page.evaluate((url) => fetch(url).catch(() => {}),
        store.url.replace(/\d+$/, (port) => Number(port) + 1));
    assert.equal(await page.evaluate(() => window.ran), undefined);
    await waitUntil(() => ['script-src-elem', 'connect-src'].every((directive) =>
        page.seen.problems.some((text) => text.startsWith(
            `Content-Security-Policy: ${directive}`))), 'both violations');
    await page.browserContext().close();
});
