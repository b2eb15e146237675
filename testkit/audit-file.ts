import { readFileSync } from 'node:fs';
import { expect } from '@jest/globals';
import { Compile } from 'typebox/schema';
import { z } from 'zod';
import type { LogLine } from './log-recorder.ts';

const schemaUrl = new URL('../docs/reference/audit-line.schema.json', import.meta.url);
const publicSchema = z.looseObject({}).parse(JSON.parse(readFileSync(schemaUrl, 'utf8')));
const validator = Compile(publicSchema);

/** The lines of an audit record, each of which must match the published schema. */
export function auditLines(text: string): LogLine[] {
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => {
      const value: unknown = JSON.parse(line);
      expect({ line, isValid: validator.Check(value) }).toEqual({ line, isValid: true });
      return z.record(z.string(), z.unknown()).parse(value);
    });
}

/** The lines in a file so far. */
export const auditLinesIn = (path: string): LogLine[] => auditLines(readFileSync(path, 'utf8'));
