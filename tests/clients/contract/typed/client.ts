// A client that uses only the types of the OpenAPI document: no casts, no
// "any". Compiled and run by typed.test.mjs against a module with 45 pets.

import createClient from 'openapi-fetch';
import type { components, paths } from 'petstore-types';

type Pet = components['schemas']['Pet'];
type NewPet = components['schemas']['NewPet'];
type Client = ReturnType<typeof createClient<paths>>;

const [baseUrl, key, smallKey] = process.argv.slice(2);
if (!baseUrl || !key || !smallKey) {
    throw new Error('usage: client URL KEY KEY');
}

function check(condition: boolean, what: string): asserts condition {
    if (!condition) {
        throw new Error(what);
    }
}

const clientOf = (apiKey: string): Client => createClient<paths>({
    baseUrl,
    headers: { Authorization: `Bearer ${apiKey}` },
});

async function listAll(client: Client, status: Pet['status']): Promise<Pet[]> {
    const pets: Pet[] = [];
    let cursor: string | undefined;
    do {
        const { data, error, response } = await client.GET('/pets', {
            params: { query: { limit: 10, status, cursor } },
        });
        if (error) {
            throw new Error(`${error.status} ${error.code}: ${error.message}`);
        }
        pets.push(...data);
        const link = /<([^>]*)>; rel="next"/.exec(
            response.headers.get('link') ?? '')?.[1];
        cursor = link && (new URL(link, baseUrl).searchParams.get('cursor')
            ?? undefined);
    } while (cursor);
    return pets;
}

const client = clientOf(key);
const before = await listAll(client, undefined);
check(before.length === 45, `lists ${before.length} pets`);

const kim: NewPet = { name: 'Kim', categoryId: 7, status: 'pending' };
const created = await client.POST('/pets', {
    body: kim,
    params: { header: { 'Idempotency-Key': 'order-1' } },
});
check(created.data !== undefined, 'creates a pet');
const id: number = created.data.id;
check(created.response.headers.get('location') === `/v1/pets/${id}`,
    'Location names the pet');
const pending = await listAll(client, 'pending');
check(pending.at(-1)?.id === id, 'lists the new pet');

const shown = await client.GET('/pets/{petId}', {
    params: { path: { petId: id } },
});
check(shown.data?.name === 'Kim', 'shows the pet');

const missing = await client.GET('/pets/{petId}', {
    params: { path: { petId: 1_000_000 } },
});
check(missing.error?.code === 'pet_not_found', 'a missing pet is 404');
check(missing.error.status === 404, 'with its status');

const stranger = await clientOf('wrong').GET('/pets');
check(stranger.error?.code === 'invalid_api_key', 'another key is 401');

const small = clientOf(smallKey);
await small.GET('/pets');
const denied = await small.GET('/pets');
check(denied.error?.code === 'rate_limit_exceeded', 'over the limit is 429');
check(Number(denied.response.headers.get('retry-after')) >= 1,
    'says when to come back');

const invalid = await client.POST('/pets', { body: { name: '', categoryId: 7 } });
switch (invalid.error?.code) {
case 'invalid_field':
    break;
default:
    throw new Error('an empty name is invalid_field');
}
console.log('done');
