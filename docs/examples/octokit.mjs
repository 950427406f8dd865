// The pet store through Octokit (npm install @octokit/core).
import { randomUUID } from 'node:crypto';
import { setTimeout } from 'node:timers/promises';
import { Octokit } from '@octokit/core';

const seconds = (count) => setTimeout(count * 1000);

export function petstore(baseUrl, key, sleep = seconds) {
    const octokit = new Octokit({ baseUrl });
    octokit.hook.wrap('request', async (request, options) => {
        // The option `auth` would send "token", GitHub's own scheme.
        options.headers.authorization = `Bearer ${key}`;
        for (let attempt = 1; ; ++attempt) {
            try {
                return await request(options);
            } catch (error) {
                const status = error.response?.status ?? 503; // no response
                // A proxy may send a date, or nothing.
                const wait = Number(error.response?.headers['retry-after'])
                    || 2 ** attempt / 2;
                if (![429, 502, 503, 504].includes(status) || attempt === 5
                    || wait > 60) throw error;
                await sleep(wait);
            }
        }
    });
    return octokit;
}

// Yields all pets: listPets(octokit, { status: 'sold' }).
export async function* listPets(octokit, filters) {
    let page = await octokit.request('GET /v1/pets', { limit: 100, ...filters });
    for (;;) {
        yield* page.data;
        const next = /<([^>]*)>; rel="next"/.exec(page.headers.link ?? '')?.[1];
        if (!next) return;
        page = await octokit.request(`GET ${next}`);
    }
}

// A new Idempotency-Key for each pet, the same one for each attempt.
export async function createPet(octokit, pet, idempotencyKey = randomUUID()) {
    const { data } = await octokit.request('POST /v1/pets', {
        ...pet,
        headers: { 'idempotency-key': idempotencyKey },
    });
    return data;
}
