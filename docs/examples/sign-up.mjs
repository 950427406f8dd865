// A back end that sells an API: customers sign up, change their plan and see their usage.
// Its routes have no authentication: add yours. Fastify takes ids of up to 100 characters.
//
//   npm install fastify openapi-fetch
//   PETSTORE_ADMIN=http://127.0.0.1:8081/admin/v1 PETSTORE_ADMIN_KEY=… node sign-up.mjs
import Fastify from 'fastify';
import createClient from 'openapi-fetch';

// Repeats what failed for the moment. With an Idempotency-Key, that creates
// nothing twice.
async function patiently(/** @type {Request} */ request, attempts = 5) {
    const response = await fetch(request.clone());
    const seconds = Number(response.headers.get('retry-after')) || 1; // a proxy may send a date
    if (![429, 503].includes(response.status) || attempts === 1 || seconds > 60) {
        return response;
    }
    await new Promise((done) => { setTimeout(done, seconds * 1000); });
    return patiently(request, attempts - 1);
}
/** @type {ReturnType<typeof createClient<import('petstore-admin').paths>>} */
const admin = createClient({ baseUrl: process.env.PETSTORE_ADMIN, fetch: patiently,
    headers: { Authorization: `Bearer ${process.env.PETSTORE_ADMIN_KEY}` } });
admin.use({ async onResponse({ response }) {
    if (!response.ok) {
        const { message } = await response.json();
        throw Object.assign(new Error(message), { statusCode: response.status });
    }
} });

async function accountOf(/** @type {string} */ customer) {
    const { data } = await admin.GET('/accounts', { params: { query: { external_id: customer } } });
    return { accountId: data?.[0]?.id ?? '-' }; // the id '-' is answered with 404
}

export async function* nearLimit(percent = 80) {
    for (let /** @type {string | undefined} */ cursor; ;) {
        const { data, response } = await admin.GET('/usage', { params: { query: { cursor } } });
        yield* (data ?? []).filter(({ windows }) => windows.some(({ window, used, limit }) =>
            window !== 'minute' && used * 100 >= limit * percent)).map((usage) => usage.external_id);
        cursor = /[?&]cursor=([^&>]*)[^>]*>; rel="next"/.exec(response.headers.get('link') ?? '')?.[1];
        if (!cursor) return;
    }
}

export const app = Fastify();
/** @typedef {{ Params: { customer: string }, Body: { plan: string } }} Customer */
app.post('/customers/:customer', async (/** @type {import('fastify').FastifyRequest<Customer>} */ { params: { customer }, headers }, reply) => {
    const body = { external_id: customer };
    const attempt = `${encodeURIComponent(customer)}/${headers['idempotency-key'] ?? Date.now()}`;
    const once = (/** @type {string} */ what) => ({ header: { 'Idempotency-Key': `${what}-${attempt}` } });
    await admin.POST('/accounts', { body, params: once('account') });
    const { data } = await admin.POST('/keys', { body, params: once('key') });
    return reply.code(201).send({ key: data?.key }); // absent in a repetition
});
app.put('/customers/:customer/plan', { schema: { body: { type: 'object', required: ['plan'] } } }, async (/** @type {import('fastify').FastifyRequest<Customer>} */ { params: { customer }, body: { plan } }) =>
    (await admin.PATCH('/accounts/{accountId}', { params: { path: await accountOf(customer) }, body: { plan } })).data);
app.get('/customers/:customer/usage', async (/** @type {import('fastify').FastifyRequest<Customer>} */ { params: { customer } }) =>
    (await admin.GET('/accounts/{accountId}/usage', { params: { path: await accountOf(customer) } })).data);

if (process.argv[1]?.endsWith('sign-up.mjs')) await app.listen({ port: Number(process.env.PORT ?? 3000) });
