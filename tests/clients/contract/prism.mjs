// Prism as a proxy in front of a server, which checks each exchange against a
// document.

import { spawn } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';

import { accepts, address, freePort, root, waitUntil } from '../support/store.mjs';

// `file` gets the document. Options are those of "prism proxy".
export async function startPrism(document, upstream, file, options = []) {
    fs.writeFileSync(file, JSON.stringify(document));
    const port = await freePort();
    const log = `${file}.log`;
    const out = fs.openSync(log, 'w');
    const child = spawn('setpriv', ['--pdeathsig', 'TERM', '--', process.execPath,
        path.join(root, 'tests/clients/node_modules/.bin/prism'), 'proxy',
        '--host', address, '--port', String(port), ...options, file, upstream],
    { stdio: ['ignore', out, out] });
    child.unref(); // as in store.mjs
    const exit = new Promise((resolve) => {
        child.on('exit', resolve);
    });
    let ended = false;
    exit.then(() => { ended = true; });
    await waitUntil(() => ended || accepts(port), 'Prism listens');
    if (ended) {
        throw new Error(`Prism does not start: ${fs.readFileSync(log, 'utf8')}`);
    }
    return {
        url: `http://${address}:${port}`,
        stop() {
            child.ref();
            child.kill('SIGTERM');
            return exit;
        },
    };
}

// What Prism complains of in a response, as a text, or nothing.
export async function violation(response) {
    const header = response.headers.get('sl-violations');
    if (header) {
        return header;
    }
    const type = response.headers.get('content-type') ?? '';
    return type.startsWith('application/problem+json')
        ? response.clone().text() : undefined;
}
