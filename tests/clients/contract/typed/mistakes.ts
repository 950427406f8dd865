// Mistakes that the document's types must reject: tsc fails if the line after
// an "@ts-expect-error" compiles.

import createClient from 'openapi-fetch';
import type { paths } from 'petstore-types';

const client = createClient<paths>();
// @ts-expect-error: no such path
await client.GET('/pet');
// @ts-expect-error: no such status
await client.GET('/pets', { params: { query: { status: 'lost' } } });
// @ts-expect-error: categoryId is missing
await client.POST('/pets', { body: { name: 'Kim' } });
// @ts-expect-error: the id is a number
await client.GET('/pets/{petId}', { params: { path: { petId: '1' } } });
const { data, error } = await client.GET('/pets/{petId}', {
    params: { path: { petId: 1 } },
});
// @ts-expect-error: there may be no pet
console.log(data.name);
// @ts-expect-error: a code that this operation does not have
console.log(error?.code === 'outcome_unknown');
