// The document that the module serves passes the linters of others, warnings
// included.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';

import { fetchDocument } from '../support/document.mjs';
import { root, startStore } from '../support/store.mjs';

const clients = path.join(root, 'tests/clients');
const here = path.join(clients, 'contract');

let store;
let document;

// { code, output } of a linter, given a document.
function lint(name, args, text) {
    const file = path.join(store.dir, `${name}.json`);
    fs.writeFileSync(file, JSON.stringify(text));
    return new Promise((resolve) => {
        execFile(path.join(clients, 'node_modules/.bin', name),
            [...args, file], { cwd: store.dir, env: { ...process.env,
                NO_COLOR: '1', REDOCLY_TELEMETRY: 'off',
                REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' } },
            (error, stdout, stderr) => resolve({ code: error?.code ?? 0,
                output: stdout + stderr }));
    });
}

const redocly = (text) => lint('redocly', ['lint', '--format=stylish',
    '--config', path.join(here, 'redocly.yaml')], text);
const spectral = (text) => lint('spectral', ['lint', '--quiet',
    '--fail-severity=hint', '-r', path.join(here, 'spectral.yaml')], text);

before(async () => {
    store = await startStore();
    document = await fetchDocument(store);
});
after(() => store.stop());

for (const [name, linter] of Object.entries({ redocly, spectral })) {
    test(`${name} has no finding`, async () => {
        const { code, output } = await linter(document);
        assert.equal(code, 0, output);
        assert.doesNotMatch(output, /warning/i);
    });

    test(`${name} notices a mistake`, async () => {
        const broken = structuredClone(document);
        delete broken.paths['/pets'].get.operationId;
        broken.paths['/pets'].post.responses['201'].content['application/json']
            .examples.pet.value.id = 'one';
        const { code, output } = await linter(broken);
        assert.notEqual(code, 0);
        assert.match(output, /operation-operationId/);
        assert.match(output, /must be integer/);
    });
}
