// Requests generated from the document: valid ones succeed, invalid ones get a
// documented 4xx, and every response matches the document.
//
// PETSTORE_RANDOM_SEED repeats a run.

import assert from 'node:assert/strict';
import http from 'node:http';
import { after, before, test } from 'node:test';

import fc from 'fast-check';

import { fetchDocument, Judge, resolve } from '../support/document.mjs';
import { startStore } from '../support/store.mjs';

const seed = Number(process.env.PETSTORE_RANDOM_SEED ?? Date.now() % 2 ** 31);
const runs = 200; // per property

let store;
let document;
let judge;
let key;
let sent = 0;
const seen = new Map(); // "operation status code" → count
const agent = new http.Agent({ keepAlive: true, maxSockets: 4 });

before(async () => {
    store = await startStore({ http: 'petstore_json_errors on;' });
    document = await fetchDocument(store);
    judge = new Judge(document);
    key = await store.createKey({ perMinute: 1000000, perDay: 1000000 });
    for (let id = 1; id <= 30; ++id) {
        await send('POST', '/v1/pets', {
            headers: { 'Content-Type': 'application/json' },
            body: JSON.stringify({ name: `pet ${id}`, categoryId: id }) });
    }
});
after(async () => {
    agent.destroy();
    await store.stop();
});

// Uses node:http, because fetch changes headers and targets.
function send(method, target, { headers = {}, body } = {}) {
    return new Promise((done, reject) => {
        const request = http.request(store.url, { method, agent, path: target,
            headers: { Authorization: `Bearer ${key}`, ...headers,
                ...body === undefined ? {}
                    : { 'Content-Length': Buffer.byteLength(body) } },
        }, async (response) => {
            let text = '';
            response.setEncoding('utf8');
            for await (const piece of response) {
                text += piece;
            }
            const { rawHeaders } = response;
            done({ method, target, status: response.statusCode, body: text,
                headers: rawHeaders.filter((_, i) => i % 2 === 0)
                    .map((name, i) => [name, rawHeaders[2 * i + 1]]) });
        });
        request.on('error', reject);
        request.end(body);
    });
}

// Checks that the response is documented, that its status matches `expected`,
// and that an error has one of these codes.
async function expectResponse(expected, codes, method, target, options) {
    const exchange = await send(method, target, options);
    const { status, body } = exchange;
    const what = () => `${method} ${target} ${JSON.stringify(options)}: `
        + `${status} ${body.slice(0, 300)}`;
    assert.deepEqual(judge.problems(exchange), [], what());
    assert.match(String(status), expected, what());
    const code = status >= 400 ? JSON.parse(body).code : '';
    if (code) {
        assert.ok(codes.includes(code), `${what()}: not ${codes}`);
    }
    sent += 1;
    const name = `${judge.operation(method, target).operation.operationId} `
        + `${status} ${code}`;
    seen.set(name, (seen.get(name) ?? 0) + 1);
    return exchange;
}

const schemaOf = (name) => resolve(document, document.components.schemas[name]);
const check = (property) => fc.assert(property,
    { seed, numRuns: runs, endOnFailure: false, verbose: 0 });

const int64 = { min: -(2n ** 63n), max: 2n ** 63n - 1n };

// Generators of texts that a schema allows and forbids, boundaries included.
// Fails on an unknown keyword, so that new ones are noticed.
function textsOf(schema) {
    schema = resolve(document, schema);
    const known = ['type', 'format', 'minimum', 'maximum', 'default', 'enum',
        'minLength', 'maxLength', 'pattern', 'description', 'examples', '$ref'];
    for (const keyword of Object.keys(schema)) {
        assert.ok(known.includes(keyword), `generator knows ${keyword}`);
    }
    if (schema.enum) {
        return {
            valid: fc.constantFrom(...schema.enum),
            invalid: fc.oneof(fc.constantFrom('', ...schema.enum.map((text) =>
                text.toUpperCase()), ...schema.enum.map((text) => `${text} `)),
            fc.string({ maxLength: 20 }))
                .filter((text) => !schema.enum.includes(text)),
        };
    }
    if (schema.type === 'integer') {
        const min = BigInt(schema.minimum ?? int64.min);
        const max = BigInt(schema.maximum ?? int64.max);
        return {
            valid: fc.oneof(fc.constantFrom(min, max, min + 1n, max - 1n),
                fc.bigInt({ min, max })).map(String),
            invalid: fc.oneof(
                fc.constantFrom(min - 1n, max + 1n, 2n ** 64n, 10n ** 40n)
                    .map(String),
                fc.constantFrom('', ' 1', '1 ', '+1', '01', '1.0', '1e1', '0x1',
                    '-0', 'abc', '١', 'null', '1,000'),
                fc.double().filter((n) => !Number.isInteger(n)).map(String)),
        };
    }
    assert.equal(schema.type, 'string');
    const unit = fc.oneof({ weight: 4, arbitrary: fc.integer({ min: 0x21,
        max: 0x7e }) }, fc.integer({ min: 0x20, max: 0xd7ff }),
    fc.integer({ min: 0xe000, max: 0x10ffff }));
    const text = (min, max) => fc.array(unit, { minLength: min, maxLength: max })
        .map((units) => String.fromCodePoint(...units));
    const allowed = (value) => {
        const length = [...value].length;
        return length >= (schema.minLength ?? 0)
            && length <= (schema.maxLength ?? Infinity)
            && (!schema.pattern || new RegExp(schema.pattern, 'u').test(value));
    };
    const max = schema.maxLength ?? 100;
    return {
        valid: fc.oneof(text(1, 20), text(max, max),
            fc.array(fc.integer({ min: 0x21, max: 0x7e }),
                { minLength: 1, maxLength: max })
                .map((units) => String.fromCodePoint(...units))).filter(allowed),
        invalid: fc.oneof(fc.constantFrom('', ' ', '\u0007', 'a\nb', '\u3000',
            'x'.repeat(max + 1)), text(max + 1, max + 5), text(0, 20))
            .filter((value) => !allowed(value)),
    };
}

const parameter = (name) => resolve(document,
    document.components.parameters[name]);
const query = (values) => {
    const text = Object.entries(values).filter(([, value]) =>
        value !== undefined).map(([name, value]) =>
        `${name}=${encodeURIComponent(value)}`).join('&');
    return `/v1/pets${text && '?'}${text}`;
};
const optional = (arbitrary) => fc.option(arbitrary, { nil: undefined });

test('every operation and parameter of the document is generated', () => {
    const found = Object.entries(document.paths).flatMap(([path, item]) =>
        Object.entries(item).map(([method, { parameters = [] }]) =>
            `${method} ${path} ${parameters.map((one) =>
                resolve(document, one).name).join(' ')}`));
    assert.deepEqual(found.sort(), ['get /pets limit status cursor',
        'get /pets/{petId} petId', 'post /pets Idempotency-Key']);
    assert.deepEqual(Object.keys(schemaOf('NewPet').properties).sort(),
        ['categoryId', 'name', 'status']);
});

test('listPets: valid parameters', async () => {
    const limit = textsOf(parameter('limit').schema);
    const status = textsOf(parameter('statusFilter').schema);
    await check(fc.asyncProperty(optional(limit.valid), optional(status.valid),
        optional(fc.string()), async (one, two, unknown) => {
            await expectResponse(/^200$/, [], 'GET',
                query({ limit: one, status: two, unknown }));
        }));
});

for (const [name, component] of Object.entries({ limit: 'limit',
    status: 'statusFilter', cursor: 'cursor' })) {
    test(`listPets: an invalid ${name}`, async () => {
        // No generated text is a valid cursor.
        const values = name === 'cursor' ? fc.oneof(fc.string(),
            fc.base64String({ maxLength: 60 }))
            : textsOf(parameter(component).schema).invalid;
        await check(fc.asyncProperty(values, async (value) => {
            await expectResponse(/^400$/, ['invalid_parameter'], 'GET',
                query({ [name]: value }));
        }));
    });
}

test('listPets: cursors of the service, and damaged ones', async () => {
    const { headers } = await send('GET', '/v1/pets?limit=5');
    const link = headers.find(([name]) => name === 'Link')[1];
    const target = /<([^>]*)>; rel="next"/.exec(link)[1];
    await expectResponse(/^200$/, [], 'GET', target);
    const cursor = new URL(target, store.url).searchParams.get('cursor');
    await check(fc.asyncProperty(fc.nat(cursor.length - 1),
        fc.constantFrom('', '*', 'A', '_'), async (at, put) => {
            const changed = cursor.slice(0, at) + put + cursor.slice(at + 1);
            fc.pre(changed !== cursor);
            await expectResponse(/^400$/, ['invalid_parameter'], 'GET',
                query({ limit: 5, cursor: changed }));
        }));
});

test('getPet: ids that exist, and others', async () => {
    const { valid, invalid } = textsOf(parameter('petId').schema);
    await check(fc.asyncProperty(fc.integer({ min: 1, max: 30 }), async (id) => {
        await expectResponse(/^200$/, [], 'GET', `/v1/pets/${id}`);
    }));
    const missing = valid.filter((id) => BigInt(id) > 10000n);
    const segment = invalid.filter((id) => id !== '');
    await check(fc.asyncProperty(fc.oneof(missing, segment), async (id) => {
        await expectResponse(/^404$/, ['pet_not_found', 'not_found'], 'GET',
            `/v1/pets/${encodeURIComponent(id)}`);
    }));
});

// A JSON text that keeps the digits of categoryId.
const newPet = (name, categoryId, status, more = '') => `{"name":${
    JSON.stringify(name)},"categoryId":${categoryId}${status === undefined ? ''
    : `,"status":${JSON.stringify(status)}`}${more}}`;
const json = { 'Content-Type': 'application/json' };

// Generators for the members of NewPet in the document.
function members() {
    const { name, categoryId, status } = schemaOf('NewPet').properties;
    return { name: textsOf(name), categoryId: textsOf(categoryId),
        status: textsOf(status) };
}

test('createPet: valid bodies and keys', async () => {
    const { name, categoryId, status } = members();
    const once = textsOf(parameter('idempotencyKey').schema);
    let used = 0;
    await check(fc.asyncProperty(name.valid, categoryId.valid,
        optional(status.valid), optional(once.valid),
        async (one, two, three, idempotencyKey) => {
            // Unique per pet: a repeated key would cause a 422.
            const headers = idempotencyKey === undefined ? json : { ...json,
                'Idempotency-Key': `${++used}${idempotencyKey}`.slice(0, 255) };
            const { body } = await expectResponse(/^201$/, [], 'POST',
                '/v1/pets', { headers, body: newPet(one, two, three) });
            assert.equal(JSON.parse(body).name, one);
            assert.ok(body.includes(`"categoryId":${two},`), body);
        }));
});

test('createPet: an invalid member', async () => {
    const { name, categoryId, status } = members();
    const others = fc.constantFrom('null', 'true', '[]', '{}');
    const cases = fc.oneof(
        name.invalid.map((text) => newPet(text, '1')),
        others.map((text) => `{"name":${text},"categoryId":1}`),
        // Invalid JSON is covered by another test.
        categoryId.invalid.filter((text) => text === text.trim()).filter((text) => {
            try {
                return JSON.parse(text) !== undefined;
            } catch {
                return false;
            }
        }).map((text) => newPet('Kim', text)),
        fc.string({ maxLength: 10 }).map((text) =>
            newPet('Kim', JSON.stringify(text))),
        others.map((text) => newPet('Kim', text)),
        status.invalid.map((text) => newPet('Kim', '1', text)),
        others.map((text) => `{"name":"Kim","categoryId":1,"status":${text}}`));
    await check(fc.asyncProperty(cases, async (body) => {
        await expectResponse(/^400$/, ['invalid_field'], 'POST', '/v1/pets',
            { headers: json, body });
    }));
});

test('createPet: a missing or forbidden member', async () => {
    await check(fc.asyncProperty(fc.constantFrom(...schemaOf('NewPet').required),
        fc.dictionary(fc.string(), fc.string()), async (missing, more) => {
            const { id, name, categoryId, status, ...rest } = more;
            const pet = { name: 'Kim', categoryId: 1, ...rest };
            delete pet[missing];
            await expectResponse(/^400$/, ['missing_field'], 'POST', '/v1/pets',
                { headers: json, body: JSON.stringify(pet) });
        }));
    await check(fc.asyncProperty(fc.jsonValue({ maxDepth: 3 }), async (id) => {
        await expectResponse(/^400$/, ['read_only_field'], 'POST', '/v1/pets',
            { headers: json,
                body: JSON.stringify({ id, name: 'Kim', categoryId: 1 }) });
    }));
});

test('createPet: bodies of any kind', async () => {
    const codes = ['missing_body', 'invalid_json', 'missing_field',
        'invalid_field', 'read_only_field', 'payload_too_large'];
    await check(fc.asyncProperty(fc.oneof(
        fc.string({ unit: 'binary' }), fc.json(),
        fc.jsonValue({ maxDepth: 20 }).map((value) => JSON.stringify(value)),
        fc.integer({ min: 1, max: 20000 }).map((length) => 'x'.repeat(length)),
        fc.integer({ min: 17, max: 500 }).map((depth) =>
            `{"more":${'['.repeat(depth)}${']'.repeat(depth)}}`),
        fc.nat(40).map((at) => newPet('Kim', '1').slice(0, at))),
    async (body) => {
        fc.pre(body !== newPet('Kim', '1'));
        await expectResponse(/^4(00|13)$/, codes, 'POST', '/v1/pets',
            { headers: json, body });
    }));
});

test('createPet: other media types and codings', async () => {
    const token = fc.stringMatching(/^[a-z]{1,9}\/[a-z.+-]{1,9}$/);
    await check(fc.asyncProperty(token, optional(fc.constantFrom('gzip', 'br')),
        async (type, coding) => {
            fc.pre(type !== 'application/json');
            await expectResponse(/^415$/, ['unsupported_media_type'], 'POST',
                '/v1/pets', { headers: { 'Content-Type': type,
                    ...coding && { 'Content-Encoding': coding } },
                body: newPet('Kim', '1') });
        }));
});

test('createPet: an invalid Idempotency-Key', async () => {
    const { invalid } = textsOf(parameter('idempotencyKey').schema);
    // Only bytes allowed in an HTTP header. White space around them is ignored.
    const values = invalid.map((text) => text.trim()
        .replace(/[^\x20-\x7e\xa1-\xff]/g, 'é'))
        .filter((text) => !/^[!-~]{1,255}$/.test(text));
    await check(fc.asyncProperty(values, async (value) => {
        await expectResponse(/^400$/, ['invalid_parameter'], 'POST', '/v1/pets',
            { headers: { ...json, 'Idempotency-Key': value },
                body: newPet('Kim', '1') });
    }));
});

test('all operations: keys of any kind', async () => {
    const header = fc.oneof(fc.constantFrom('', 'Bearer', 'Bearer ', 'Basic a'),
        fc.stringMatching(/^[!-~]{1,30}$/),
        fc.stringMatching(/^[!-~]{1,600}$/).map((text) => `Bearer ${text}`));
    await check(fc.asyncProperty(header, fc.constantFrom(['GET', '/v1/pets'],
        ['POST', '/v1/pets'], ['GET', '/v1/pets/1'], ['HEAD', '/v1/pets']),
    async (value, [method, target]) => {
        const { status, headers } = await send(method, target,
            { headers: { Authorization: value } });
        assert.equal(status, 401, value);
        assert.ok(headers.some(([name]) => name === 'WWW-Authenticate'));
        sent += 1;
        if (method !== 'HEAD') {
            await expectResponse(/^401$/, ['missing_api_key', 'invalid_api_key'],
                method, target, { headers: { Authorization: value } });
        }
    }));
});

test('the generated requests covered every expected outcome', (t) => {
    for (const name of ['listPets 200 ', 'listPets 400 invalid_parameter',
        'listPets 401 missing_api_key', 'listPets 401 invalid_api_key',
        'createPet 201 ', 'createPet 400 invalid_json',
        'createPet 400 missing_body', 'createPet 400 missing_field',
        'createPet 400 invalid_field', 'createPet 400 read_only_field',
        'createPet 400 invalid_parameter', 'createPet 413 payload_too_large',
        'createPet 415 unsupported_media_type', 'getPet 200 ',
        'getPet 404 pet_not_found']) {
        assert.ok(seen.get(name) > 0, name);
    }
    t.diagnostic(`${sent} requests, PETSTORE_RANDOM_SEED=${seed}`);
});

test('the checks of these responses can fail', async () => {
    const broken = structuredClone(document);
    broken.paths['/pets'].get.responses['200'].content['application/json']
        .schema.items = { type: 'string' };
    assert.notDeepEqual(new Judge(broken).problems(
        await send('GET', '/v1/pets')), []);
});
