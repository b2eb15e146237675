import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { decode } from '../../src/upstream/wire.ts';

/** What comes of a decoding, and of how many pieces it was made. */
function decoded(json: string, piece: number): { value: unknown; pieces: number } {
  const decoding = decode(json, piece);
  for (let pieces = 1; ; pieces++) {
    const { done, value } = decoding.next();
    if (done) return { value, pieces };
  }
}

const text = fc.oneof(
  fc.string(),
  fc.constantFrom('},{', '}]},{"', '"},{"list":[{', '\\"},{', '...', 'list'),
);
const leaf = fc.oneof(text, fc.integer(), fc.constant(null), fc.boolean());
const flat = fc.dictionary(fc.oneof(text, fc.constantFrom('Code', 'list')), leaf, { maxKeys: 4 });
const nested = fc.oneof(flat, fc.record({ list: fc.array(flat), Code: leaf }), fc.array(flat));
const records = fc.array(fc.oneof({ weight: 4, arbitrary: flat }, nested), { maxLength: 30 });
const answer = fc.oneof(
  fc.record({ service_status: flat, list: records }),
  fc.record({ list: records, service_status: flat }),
  fc.record({ list: records, other: records, '...': flat }, { requiredKeys: [] }),
  fc.record({ other: records, list: fc.oneof(records, flat) }),
  records,
  flat,
);

test('a long list that is decoded piece by piece is what it is at once', () => {
  let cut = 0;
  const property = fc.property(
    answer,
    fc.nat(200),
    fc.constantFrom(0, 1),
    (value, piece, indent) => {
      const json = JSON.stringify(value, null, indent);
      const result = decoded(json, piece);
      expect(result.value).toEqual(JSON.parse(json));
      if (result.pieces > 2) cut += 1;
    },
  );
  fc.assert(property, { numRuns: 5000 });
  expect(cut).toBeGreaterThan(200);
});

test.each([
  '{"list":[{"a":1},{"a":2}],"list":[{"a":3}]}',
  '{"list":[{"a":1},{"a":2}],"list":[{"a":3},{"a":4}]}',
  '{"list":[{"a":1}],"other":[{"a":2},{"a":3}],"list":[{"a":4},{"a":5}]}',
  '{"list":[{"a":1},{"a":2}],"...":[{"a":3}]}',
  '{"list":[{"a":1},{"a":2}],"...":1}',
  '{"list":[{"a":1}],"7":[{"a":2},{"a":3}]}',
  '{"a":[{"list":[{"b":1},{"b":2}]},{"list":[{"b":3},{"b":4}]}]}',
])('names that come twice, or look like ours, change nothing: %s', (json) => {
  for (let piece = 0; piece < json.length; piece++) {
    expect(decoded(json, piece).value).toEqual(JSON.parse(json));
  }
});

test.each([
  '',
  '{"list":[{"a":1}\u00a0,{"a":2}]}',
  '{"list":[{"a":1},\u2028{"a":2}]}',
  '{"list":[{"a":1},{"a":2}',
  '{"list":[{"a":1},{"a":2}]]}',
  '{"list":[{"a":1},{"a"}]}',
])('what is no JSON is none in pieces: %s', (json) => {
  for (let piece = 0; piece <= json.length; piece++) {
    expect(() => decoded(json, piece)).toThrow(SyntaxError);
  }
});
