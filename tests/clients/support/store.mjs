// A private store for a test: Redis and nginx with the module, on free ports.
//
//   const store = await startStore({ http: 'petstore_anonymous_limit 5 enforce;' });
//   const key = await store.createKey({ plan: 'pro' });
//   await fetch(store.url + store.base + '/pets', ...);
//   await store.stop();
//
// Environment variables:
//   PETSTORE_MODULE_DIR    folder of the module, build/ by default
//   PETSTORECTL            the command, build/petstorectl by default
//   PETSTORE_E2E_NGINX     another nginx
//   PETSTORE_REDIS_SERVER  another Redis server, valkey-server for example

import { execFile, spawn } from 'node:child_process';
import fs from 'node:fs';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

export const root = fileURLToPath(new URL('../../..', import.meta.url));

const moduleDir = process.env.PETSTORE_MODULE_DIR ?? path.join(root, 'build');
const petstorectl =
    process.env.PETSTORECTL ?? path.join(root, 'build/petstorectl');
const redisServer = process.env.PETSTORE_REDIS_SERVER ?? 'redis-server';
const nginxBinary = process.env.PETSTORE_E2E_NGINX ?? 'nginx';

process.env.PATH += ':/usr/sbin:/sbin';

// Timeout for servers to start and exit, on a machine that may stall.
const patience = 60_000;

// Each test process has its own address, so that others cannot take its ports.
export const address = [127, 64 + ((process.pid >> 16) & 63), (process.pid >> 8) & 255,
    process.pid & 255].join('.');

const fatal =
    /\[alert\]|\[emerg\]|exited on signal|Sanitizer|runtime error:/;

// Waits until condition() returns a true value, and returns it.
export async function waitUntil(condition, what) {
    const deadline = Date.now() + patience;
    for (;;) {
        const result = await condition();
        if (result) {
            return result;
        }
        if (Date.now() > deadline) {
            throw new Error(`not within a minute: ${what}`);
        }
        await delay(20);
    }
}

const given = new Set(); // ports

// Returns a free port of our address, never the same one twice: the kernel may
// choose a port again before its server has started.
export async function freePort() {
    for (;;) {
        const port = await new Promise((resolve, reject) => {
            const server = net.createServer();
            server.on('error', reject);
            server.listen(0, address, () => {
                const { port } = server.address();
                server.close(() => resolve(port));
            });
        });
        if (!given.has(port)) {
            given.add(port);
            return port;
        }
    }
}

function accepts(port) {
    return new Promise((resolve) => {
        const socket = net.connect(port, address);
        socket.on('connect', () => { socket.destroy(); resolve(true); });
        socket.on('error', () => resolve(false));
    });
}

// A server that is stopped when this process ends for any reason.
export class Server {
    constructor(dir, command, args) {
        this.name = path.basename(command);
        this.output = path.join(dir, `${this.name}.out`);
        const out = fs.openSync(this.output, 'a');
        this.child = spawn('setpriv',
            ['--pdeathsig', 'TERM', '--', command, ...args],
            { stdio: ['ignore', out, out] });
        // A failed test must not wait for servers that it did not stop.
        this.child.unref();
        fs.closeSync(out);
        this.exit = new Promise((resolve) => {
            this.child.on('error', (error) => resolve(error.message));
            this.child.on('exit', (code, signal) => resolve(signal ?? code));
        });
        this.exit.then((how) => { this.ended = { how }; });
    }

    async listens(port) {
        await waitUntil(() => this.ended || accepts(port),
            `${this.name} listens`);
        if (this.ended) {
            throw new Error(`${this.name} does not start: `
                + fs.readFileSync(this.output, 'utf8'));
        }
    }

    // Returns the exit code, or the signal that killed the server.
    async end(signal) {
        this.child.kill(signal);
        const timer = setTimeout(() => this.child.kill('SIGKILL'), patience);
        const how = await this.exit;
        clearTimeout(timer);
        return how;
    }
}

function configuration(options, { port, redisUrl }) {
    const added = [options.main, options.http, options.server,
        options.location, options.servers].join('\n');
    // A test that sets one timeout gets the module's default for the other.
    const timeouts = /petstore_redis_(connect_)?timeout/.test(added) ? ''
        : 'petstore_redis_connect_timeout 10s; petstore_redis_timeout 10s;';
    return `load_module ${moduleDir}/ngx_http_petstore_module.so;
daemon off;
pid nginx.pid;
error_log error.log info;
worker_processes ${options.workers};
${options.main}
events { worker_connections 1024; }
http {
    access_log access.log;
    client_body_temp_path temp;
    proxy_temp_path temp;
    fastcgi_temp_path temp;
    uwsgi_temp_path temp;
    scgi_temp_path temp;
    petstore_redis ${redisUrl};
    ${timeouts}
    ${options.http}
    server {
        listen ${address}:${port};
        ${options.server}
        location ${options.base}/ {
            petstore ${options.base};
            ${options.location}
        }
    }
    ${options.servers}
}
`;
}

// Finds what nginx must not have written: fatal log lines and API keys.
function problems(dir, keys) {
    const found = [];
    for (const name of fs.readdirSync(dir)) {
        const file = path.join(dir, name);
        if (!fs.statSync(file).isFile()) {
            continue;
        }
        const text = fs.readFileSync(file, 'latin1');
        for (const line of text.split('\n')) {
            if (fatal.test(line)) {
                found.push(`${name}: ${line}`);
            }
        }
        if (keys.some((key) => text.includes(key))) {
            found.push(`${name} has an API key`);
        }
    }
    return found;
}

// Starts Redis and nginx. Options, all optional:
//   main, http, server, location   lines added to these blocks of nginx.conf
//   servers                        more server blocks
//   workers                        number of workers, 1
//   base                           base path, '/v1'
// Texts may contain %ADDRESS% and %PORT%, which are the store's.
export async function startStore(options = {}) {
    options = { main: '', http: '', server: '', location: '', servers: '',
        workers: 1, base: '/v1', ...options };
    const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'petstore-clients-'));
    // Workers of an nginx started by root run as another user.
    fs.chmodSync(dir, 0o755);
    const [port, redisPort] = [await freePort(), await freePort()];
    const redisUrl = `redis://${address}:${redisPort}/0`;
    const config = configuration(options, { port, redisUrl })
        .replaceAll('%ADDRESS%', address).replaceAll('%PORT%', String(port));
    fs.writeFileSync(path.join(dir, 'nginx.conf'), config);

    const keys = [];
    const servers = {};
    const read = (name) => fs.readFileSync(path.join(dir, name), 'utf8');

    async function ctl(...args) {
        const { stdout } = await promisify(execFile)(petstorectl,
            ['--redis', redisUrl, ...args]);
        return stdout;
    }

    async function stop() {
        const found = [];
        if (servers.nginx) {
            const how = await servers.nginx.end('SIGQUIT');
            if (how !== 0) {
                found.push(`nginx ended with ${how}`);
            }
        }
        await servers.redis?.end('SIGTERM');
        found.push(...problems(dir, keys));
        fs.rmSync(dir, { recursive: true, force: true });
        if (found.length) {
            throw new Error(found.join('\n'));
        }
    }

    try {
        servers.redis = new Server(dir, redisServer, ['--bind', address,
            '--port', String(redisPort), '--dir', dir, '--appendonly', 'yes',
            '--appendfsync', 'no', '--save', '']);
        await servers.redis.listens(redisPort);
        servers.nginx = new Server(dir, nginxBinary,
            ['-p', dir, '-c', 'nginx.conf', '-e', 'error.log']);
        await servers.nginx.listens(port);
    } catch (error) {
        await stop().catch((more) => { error.message += `\n${more.message}`; });
        throw error;
    }

    return {
        url: `http://${address}:${port}`,
        base: options.base,
        address,
        port,
        redisPort,
        redisUrl,
        dir,
        accessLog: () => read('access.log'),
        errorLog: () => read('error.log'),
        // Runs petstorectl with these arguments; returns its output.
        ctl,
        // Options are those of "petstorectl key create", in camel case:
        // { plan, perMinute, perDay, label, scopes, expires, account … }.
        async createKey(keyOptions = {}) {
            const args = Object.entries(keyOptions).flatMap(([name, value]) => [
                `--${name.replace(/[A-Z]/g, (c) => `-${c.toLowerCase()}`)}`,
                String(value)]);
            const { key } = JSON.parse(
                await ctl('key', 'create', '--json', ...args));
            keys.push(key);
            return key;
        },
        // Stops both servers. Throws if nginx wrote what it must not, or did
        // not exit cleanly.
        stop,
    };
}
