/** Says at the end of the process, as the last line of standard error, which packages it has loaded. */
export const packagesHook = `data:text/javascript,${encodeURIComponent(`
  import { registerHooks } from 'node:module';
  import { writeSync } from 'node:fs';
  const packages = new Set();
  registerHooks({
    load: (url, context, next) => {
      const [, path] = url.split('/node_modules/');
      if (path) packages.add(path.split('/')[0]);
      return next(url, context);
    },
  });
  process.on('exit', () => writeSync(2, '\\n' + JSON.stringify([...packages])));
`)}`;

/** The packages that only a cluster or a bucket needs. */
export const ofClusters = ['pg', 'pg-pool', 'pg-protocol', '@aws-sdk', '@smithy'] as const;
