/** The number of codes in the list `long`. */
export const CODES = 600;
/** As many fields as a document may have aliases (docs/reference/limits.md), but one. */
export const ALIASES = 199;

const fields = (count: number, field: (n: number) => string) =>
  Array.from({ length: count }, (_, n) => `a${n}:${field(n)}`).join(' ');
const codesOf = (project: string, selection: string, rest = '') =>
  `glCodes(target:EMAIL,project:"${project}"${rest}){...on GlCodeList{${selection}}}`;
/** One list of each of these projects. */
export const listsOf = (count: number, project: (n: number) => string, rest = '') =>
  `{${fields(count, (n) => codesOf(project(n), '__typename', rest))}}`;
/** Uploads whose outcome of 1 MB is selected so many times. */
export const uploads = (count: number, selected = 1) =>
  `mutation{${fields(count, () => `uploadWorkflowCsv(input:{fileName:"a",csv:"a"}){...on WorkflowCsvUploaded{${fields(selected, () => 'unresolved')}}}`)}}`;
export const settleOf = (key: string) =>
  `mutation{settleWrites(idempotencyKey:"${key}"){writes{outcome{...on WorkflowCsvUploaded{unresolved}}}}}`;
export const referenceQuery = (selection: string) =>
  `query($r:[_Any!]!){_entities(representations:$r){...on GlCode{${selection}}}}`;
/** Not valid: fields of one response name, which validation compares with each other. */
export const costlyQuery = `{${Array.from({ length: 1_300 }, (_, n) => `glCodes(a:${n})`).join('')}}`;
export const codesQuery = (project: string, selection: string) =>
  `{${codesOf(project, selection)}}`;
export const wideQuery = codesQuery('wide', `codes{${fields(14, () => 'name')}}`);
export const messageQuery = codesQuery(
  'message',
  fields(30, () => 'message'),
);
export const partsQuery = `{${fields(90, () => codesOf('long', 'codes{code}', `,first:${CODES - 1}`))}}`;
export const uploadMutation =
  'mutation($c:String!){uploadWorkflowCsv(input:{fileName:"a",contentBase64:$c}){__typename}}';
export const approversMutation =
  'mutation($a:[ApproverInput!]!){saveApprovers(approvers:$a){__typename}}';
/** With a fragment, because a document has at most 4,000 tokens. */
export const longQuery = `{${fields(ALIASES, () => 'glCodes(target:EMAIL,project:"long"){...c}')}}fragment c on GlCodeList{codes{code name}}`;
export const tooLongQuery = `query($o:[String!]){${fields(ALIASES, () => 'glCodes(target:EMAIL,project:"x",only:$o){__typename}')}}`;
/** A different document for each number, which is costly to compile. */
export const compiledQuery = (n: number) =>
  `query q${n}{${fields(42, () => codesOf('x', 'codes{code name value hide __typename}'))}}`;
export const slowQuery = (n: number) => listsOf(ALIASES, (k) => `slow-${n}-${k}`);
export const recordsQuery = (n: number) => listsOf(150, (k) => `records-${n}-${k}`);
export const missingQuery = listsOf(ALIASES, () => 'missing');
