// A reporter for node:test: failures, t.diagnostic() messages, and a count.

import { inspect } from 'node:util';

export default async function* reporter(source) {
    let passed = 0;
    let failed = 0;
    for await (const { type, data } of source) {
        if (type === 'test:pass' && data.details.type !== 'suite') {
            passed += 1;
        } else if (type === 'test:fail'
            && data.details.error.failureType !== 'subtestsFailed') {
            failed += 1;
            const { error } = data.details;
            yield `FAILED: ${data.name}\n${inspect(error.cause ?? error)}\n`;
        } else if (type === 'test:diagnostic'
            && !/^(tests|suites|pass|fail|cancelled|skipped|todo|duration_ms) /
                .test(data.message)) {
            yield `${data.message}\n`;
        } else if (type === 'test:stderr') {
            yield data.message;
        }
    }
    yield `${passed} passed, ${failed} failed\n`;
}
