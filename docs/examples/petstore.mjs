// A client of the pet store: pages, safe creates, retries. Needs Node.js 18.
import { randomUUID } from 'node:crypto'; // browsers: crypto.randomUUID
import { setTimeout } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';

// What the service refused. `code` decides what to do.
export class PetstoreError extends Error {
    constructor(status, text) {
        let error = {};
        try {
            error = JSON.parse(text);
        } catch {} // from a proxy in between
        super(`${status} ${error.code ?? ''}: ${error.message ?? ''}`);
        this.status = status;
        this.code = error.code ?? '';
    }
}

export class Petstore {
    attempts = 5;
    longestWait = 60; // seconds; a ban takes longer
    sleep = (seconds) => setTimeout(seconds * 1000);

    constructor(url, key) {
        this.url = url;
        this.key = key;
    }

    // Sends a request that may be repeated, until it is not refused for now.
    async send(method, path, { headers, body } = {}) {
        for (let attempt = 1; ; ++attempt) {
            const last = attempt === this.attempts;
            let response;
            let text;
            try {
                response = await fetch(new URL(path, this.url), {
                    method,
                    body,
                    headers: { ...headers, Authorization: `Bearer ${this.key}` },
                    signal: AbortSignal.timeout(10_000),
                });
                text = await response.text();
            } catch (error) { // no response
                if (last) throw error;
                await this.sleep(2 ** attempt / 2);
                continue;
            }
            if (response.ok) return { response, data: JSON.parse(text) };
            // 503 includes outcome_unknown: with the same Idempotency-Key, the
            // next attempt returns the pet if there is one.
            // A proxy may send a date, or nothing.
            const wait = Number(response.headers.get('Retry-After')) || 2 ** attempt / 2;
            if (![429, 502, 503, 504].includes(response.status) || last
                || wait > this.longestWait) {
                throw new PetstoreError(response.status, text);
            }
            await this.sleep(wait);
        }
    }

    // Yields all pets, page by page: listPets({ status: 'sold' }).
    async *listPets(filters = {}) {
        let path = `/v1/pets?${new URLSearchParams({ limit: 100, ...filters })}`;
        while (path) {
            const { response, data } = await this.send('GET', path);
            yield* data;
            const link = response.headers.get('Link') ?? '';
            path = /<([^>]*)>; rel="next"/.exec(link)?.[1];
        }
    }

    // Creates one pet, however often the request has to be sent.
    async createPet(pet, idempotencyKey = randomUUID()) {
        const { data } = await this.send('POST', '/v1/pets', {
            headers: {
                'Content-Type': 'application/json',
                'Idempotency-Key': idempotencyKey,
            },
            body: JSON.stringify(pet),
        });
        return data;
    }
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
    const store = new Petstore(process.env.PETSTORE_URL, process.env.PETSTORE_KEY);
    const pet = await store.createPet({ name: 'Kim', categoryId: 7, status: 'sold' });
    console.log('created', pet.name, 'as number', pet.id);
    const names = [];
    for await (const { name } of store.listPets({ status: 'sold' })) names.push(name);
    console.log('sold:', names.join(', '));
    try {
        await store.createPet({ name: '', categoryId: 7 });
    } catch (error) {
        if (error.code !== 'invalid_field') throw error;
        console.log('not created:', error.message);
    }
}
