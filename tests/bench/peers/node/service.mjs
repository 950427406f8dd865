// A peer for comparison: the same three operations as a Fastify and ioredis
// service with auto-pipelining and one EVALSHA per request. It has no bans and
// no cursors and checks less than our module, all in its favour.
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import Fastify from 'fastify';
import Redis from 'ioredis';

const { PEER_PORT, PEER_REDIS, PEER_SCRIPT } = process.env;
const STATUS = new Set(['available', 'pending', 'sold']);

const redis = new Redis({ path: PEER_REDIS, enableAutoPipelining: true });
redis.defineCommand('api', { numberOfKeys: 1, lua: readFileSync(PEER_SCRIPT, 'utf8') });

const app = Fastify();

function fail(reply, status, code, message) {
  reply.code(status).send({ code, message, status });
}

function keyName(request) {
  const match = /^bearer +(\S+)$/i.exec(request.headers.authorization ?? '');
  return match && 'p:key:' + createHash('sha1').update(match[1]).digest('base64');
}

// Runs the operation and sets the rate headers. Responds itself if the request
// is refused.
async function run(request, reply, ...args) {
  const key = keyName(request);
  const result = key ? await redis.api(key, ...args) : [-1];
  if (result[0] === -1) {
    return void fail(reply, 401, 'unauthorized', 'Missing or invalid API key');
  }
  reply.headers({
    'X-RateLimit-Limit': result[1],
    'X-RateLimit-Remaining': result[2],
    'X-RateLimit-Reset': result[3],
  });
  if (result[0] === 0) {
    reply.header('Retry-After', result[4]);
    return void fail(reply, 429, 'rate_limited', 'Rate limit exceeded');
  }
  reply.type('application/json');
  return result[4];
}

// For nginx's auth_request, which passes on no refusals but 401 and 403.
app.get('/admit', async (request, reply) => {
  const key = keyName(request);
  const result = key ? await redis.api(key, 'admit') : [-1];
  if (result[0] !== 1) {
    return reply.code(result[0] === -1 ? 401 : 403).send();
  }
  return reply.code(204).headers({
    'X-RateLimit-Limit': result[1],
    'X-RateLimit-Remaining': result[2],
    'X-RateLimit-Reset': result[3],
  }).send();
});

app.get('/v1/pets/:id', async (request, reply) => {
  const pet = await run(request, reply, 'get', request.params.id);
  if (reply.sent) return reply;
  if (!pet) {
    fail(reply, 404, 'not_found', 'The animal could not be found');
    return reply;
  }
  reply.header('Deprecation', 'true');
  return pet;
});

app.get('/v1/pets', async (request, reply) => {
  const { status, cursor = '-inf' } = request.query;
  const limit = Number(request.query.limit ?? 20);
  if (!Number.isInteger(limit) || limit < 1 || limit > 100) {
    fail(reply, 400, 'invalid_request', 'limit');
    return reply;
  }
  if (status && !STATUS.has(status)) {
    fail(reply, 400, 'invalid_request', 'status');
    return reply;
  }
  const rows = await run(request, reply, 'list', status ? 'p:' + status : 'p:all', cursor, limit);
  return reply.sent ? reply : '[' + rows.join(',') + ']';
});

app.post('/v1/pets', async (request, reply) => {
  const { name, categoryId, status = 'available' } = request.body ?? {};
  if (typeof name !== 'string' || !Number.isInteger(categoryId) || !STATUS.has(status)) {
    fail(reply, 400, 'invalid_request', 'body');
    return reply;
  }
  const tail = `,"name":${JSON.stringify(name)},"categoryId":${categoryId},"status":"${status}"}`;
  const pet = await run(request, reply, 'create', tail, status);
  if (reply.sent) return reply;
  reply.code(201);
  return pet;
});

await app.listen({ host: '127.0.0.1', port: Number(PEER_PORT) });
