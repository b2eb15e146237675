/** One ledger code as it travels (section 2.3). `Hide` is 0 or 1 here; the specification does not say what it means. */
export interface SampleCode {
  readonly Code: string;
  readonly Name: string;
  readonly Value: string;
  readonly Hide: number;
}

/** The ledger codes of each project, answered for every integration target. */
export const codesByProject: ReadonlyMap<string, readonly SampleCode[]> = new Map([
  [
    'north-plant',
    [
      shown('1200', 'Spare parts in stock', 'NP-1200'),
      shown('1310', 'Work in progress', 'NP-1310'),
      shown('1480', 'Prepaid tooling', 'NP-1480'),
      shown('4010', 'Raw materials', 'NP-4010'),
      shown('4020', 'Packaging', 'NP-4020'),
      shown('4035', 'Subcontracted machining', 'NP-4035'),
      shown('4110', 'Inbound freight', 'NP-4110'),
      shown('5010', 'Electricity', 'NP-5010'),
      shown('5020', 'Process water', 'NP-5020'),
      shown('5030', 'Industrial gases', 'NP-5030'),
      shown('5210', 'Machine maintenance', 'NP-5210'),
      shown('5220', 'Calibration and inspection', 'NP-5220'),
      shown('5410', 'Protective clothing', 'NP-5410'),
      shown('5600', 'Waste disposal', 'NP-5600'),
      hidden('5990', 'Line 2 (closed down)', 'NP-5990'),
      hidden('9999', 'Suspense account', 'NP-9999'),
    ],
  ],
  [
    'harbour-office',
    [
      shown('6010', 'Office rent', 'HO-6010'),
      shown('6020', 'Cleaning', 'HO-6020'),
      shown('6110', 'Berth fees', 'HO-6110'),
      shown('6120', 'Pilotage and towage', 'HO-6120'),
      shown('6130', 'Customs clearance', 'HO-6130'),
      shown('6140', 'Container storage', 'HO-6140'),
      shown('6210', 'Marine insurance', 'HO-6210'),
      shown('6310', 'Fuel for service boats', 'HO-6310'),
      shown('6410', 'Telephone and radio', 'HO-6410'),
      shown('6540', 'Café and catering', 'HO-6540'),
      shown('6710', 'Courier services', 'HO-6710'),
      hidden('6800', 'Old quay lease', 'HO-6800'),
      hidden('9999', 'Suspense account', 'HO-9999'),
    ],
  ],
  [
    'head-office',
    [
      shown('7010', 'Salaries', 'HQ-7010'),
      shown('7020', 'Social security', 'HQ-7020'),
      shown('7110', 'Recruitment', 'HQ-7110'),
      shown('7120', 'Training', 'HQ-7120'),
      shown('7210', 'Audit fees', 'HQ-7210'),
      shown('7220', 'Legal advice', 'HQ-7220'),
      shown('7310', 'Software subscriptions', 'HQ-7310'),
      shown('7320', 'Computer equipment', 'HQ-7320'),
      shown('7410', 'Travel: rail and air', 'HQ-7410'),
      shown('7420', 'Travel: hotels', 'HQ-7420'),
      shown('7430', 'Entertaining', 'HQ-7430'),
      shown('7510', 'Bank charges', 'HQ-7510'),
      shown('7520', 'Exchange differences', 'HQ-7520'),
      hidden('7900', 'Board provisions', 'HQ-7900'),
      hidden('9999', 'Suspense account', 'HQ-9999'),
    ],
  ],
]);

/**
 * The `invoice_id` that each operation answers with. Two lie beyond 2^53, so that a reader sees at
 * once whether large identifiers survive the way.
 */
export const invoiceIds = {
  getGLCodes5: 48_213n,
  saveApproverList: 48_214n,
  restartWorkflowAndMoveToNext: 48_310n,
  reStoreGlobalSolution: 48_311n,
  reStoreSolution: 9_007_199_254_740_993n,
  restartWorkflow2: 9_223_372_036_854_775_807n,
  updateSolutionGuide: 48_313n,
  upgradeToHQ: 48_314n,
} as const;

function shown(Code: string, Name: string, Value: string): SampleCode {
  return { Code, Name, Value, Hide: 0 };
}

function hidden(Code: string, Name: string, Value: string): SampleCode {
  return { Code, Name, Value, Hide: 1 };
}
