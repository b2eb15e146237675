import codes from './sample-codes.json' with { type: 'json' };

/** A GLCodeInfo (docs/reference/service-api.md, section 2.3). `Hide` is 0 or 1 here; its meaning is not documented. */
export type SampleCode = {
  readonly Code: string;
  readonly Name: string;
  readonly Value: string;
  readonly Hide: number;
};

/**
 * The codes of each project, the same for every integration target. Some are charts as other countries write them: headings
 * without a code, a code that is listed twice, long words, any script. `group` has as many codes as a large company.
 */
export const codesByProject: ReadonlyMap<string, readonly SampleCode[]> = new Map([
  ...Object.entries(codes),
  ['group', manyCodes()],
]);

function manyCodes(): SampleCode[] {
  const kinds = ['Travel', 'Materials', 'Rent', 'Insurance', 'Services'];
  return Array.from({ length: 50_000 }, (_, index) => {
    const Code = String(10_000 + index);
    const Name = `${kinds[index % kinds.length]}, cost centre ${index}`;
    return { Code, Name, Value: `GR-${Code}`, Hide: 0 };
  });
}
