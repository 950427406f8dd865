// The OpenAPI document that a running module serves, and a check of exchanges
// against it.

import assert from 'node:assert/strict';
import { createRequire } from 'node:module';

// ajv is CommonJS.
const require = createRequire(import.meta.url);
const Ajv = require('ajv/dist/2020.js').default;
const addFormats = require('ajv-formats').default;

export async function fetchDocument(store) {
    const response = await fetch(`${store.url}${store.base}/openapi.json`);
    assert.equal(response.status, 200, 'the document is served without a key');
    return response.json();
}

// That of the admin API at /admin/v1, with a key for it.
export async function fetchAdminDocument(store, key) {
    const response = await fetch(`${store.url}/admin/v1/openapi.json`,
        { headers: { Authorization: `Bearer ${key}` } });
    assert.equal(response.status, 200);
    return response.json();
}

// Follows "$ref": "#/…".
export function resolve(document, value) {
    while (value?.$ref) {
        value = value.$ref.slice(2).split('/').reduce((object, name) =>
            object[name.replaceAll('~1', '/').replaceAll('~0', '~')], document);
    }
    return value;
}

// Headers of HTTP itself, which documents do not list.
const hopHeaders = new Set(['connection', 'content-length', 'content-type',
    'date', 'keep-alive', 'server', 'transfer-encoding']);

const pointer = (...names) => names.map((name) =>
    `/${String(name).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');

export class Judge {
    #validators = new Map();

    constructor(document) {
        this.document = document;
        this.ajv = new Ajv({ strict: false, allErrors: true });
        addFormats(this.ajv);
        this.ajv.addSchema(document, 'api');
        this.base = new URL(document.servers[0].url, 'http://a').pathname
            .replace(/\/$/, '');
    }

    // Returns { path, method, operation }, or nothing if the document has no
    // such operation. HEAD is GET without the body.
    operation(method, target) {
        const [raw] = target.split('?');
        const path = Object.keys(this.document.paths).find((template) =>
            new RegExp(`^${this.base}${template.replace(/\{\w+\}/g, '[^/]+')}$`)
                .test(raw));
        const lower = method === 'HEAD' ? 'get' : method.toLowerCase();
        const operation = this.document.paths[path]?.[lower];
        return operation && { path, method: lower, operation };
    }

    #validate(where, value) {
        if (!this.#validators.has(where)) {
            this.#validators.set(where,
                this.ajv.compile({ $ref: `api#${where}` }));
        }
        const validator = this.#validators.get(where);
        return validator(value) ? []
            : validator.errors.map(({ instancePath, message, params }) =>
                `${instancePath} ${message} ${JSON.stringify(params)}`);
    }

    // Returns texts about what contradicts the document in an exchange {
    // method, target, status, headers: [[name, value], …], body }.
    problems({ method, target, status, headers, body }) {
        const found = this.operation(method, target);
        if (!found) {
            return [`${method} ${target} is not documented`];
        }
        const responses = ['paths', found.path, found.method, 'responses'];
        const response = resolve(this.document,
            found.operation.responses[status]);
        if (!response) {
            return [`status ${status} is not documented`];
        }

        const problems = [];
        const documented = new Map(Object.entries(response.headers ?? {})
            .map(([name, header]) => [name.toLowerCase(),
                { name, ...resolve(this.document, header) }]));
        const sent = new Set();
        for (const [name, value] of headers) {
            const key = name.toLowerCase();
            sent.add(key);
            if (hopHeaders.has(key)) {
                continue;
            }
            const header = documented.get(key);
            if (!header) {
                problems.push(`header ${name} of ${status} is not documented`);
                continue;
            }
            const where = response.headers[header.name].$ref?.slice(1)
                ?? pointer(...responses, status, 'headers', header.name);
            const number = header.schema.type === 'integer' ? Number(value) : value;
            problems.push(...this.#validate(`${where}/schema`, number)
                .map((text) => `header ${name}: ${value} ${text}`));
        }
        for (const [key, header] of documented) {
            if (header.required && !sent.has(key)) {
                problems.push(`header ${header.name} is missing`);
            }
        }

        if (method === 'HEAD') {
            return problems;
        }
        const [type] = Object.keys(response.content ?? {});
        if (!type) {
            return body ? [...problems, 'the body is not documented'] : problems;
        }
        const sentType = headers.find(([name]) =>
            name.toLowerCase() === 'content-type')?.[1];
        if (sentType !== type) {
            problems.push(`Content-Type is ${sentType}, documented is ${type}`);
        }
        try {
            const json = JSON.parse(body);
            problems.push(...this.#validate(pointer(...responses, status,
                'content', type, 'schema'), json)
                .map((text) => `body: ${text}: ${body}`));
            if (status >= 400 && Object.keys(json).sort().join()
                !== 'code,message,status') {
                problems.push(`an error has other members: ${body}`);
            }
        } catch (error) {
            problems.push(`body: ${error.message}: ${body}`);
        }
        return problems;
    }
}
