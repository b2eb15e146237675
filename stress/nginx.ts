import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Writes a configuration with these lines in its section `http` into a folder, and returns the command that runs nginx with it. */
export function nginxCommand(folder: string, lines: string): string[] {
  const file = (name: string) => join(folder, name);
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (name) => `${name}_temp_path ${file(name)};`,
  );
  const text = `pid ${file('pid')}; events { worker_connections 4096; } http { access_log off; ${temporary.join(' ')} ${lines} }`;
  writeFileSync(file('main.conf'), text);
  const directives = 'daemon off; worker_processes 1;';
  return ['nginx', '-p', folder, '-e', file('log'), '-c', file('main.conf'), '-g', directives];
}
