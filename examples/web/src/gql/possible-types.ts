
      export interface PossibleTypesResultData {
        possibleTypes: {
          [key: string]: string[]
        }
      }
      const result: PossibleTypesResultData = {
  "possibleTypes": {
    "GlCodesResult": [
      "GlCodeList",
      "LedgerFailed",
      "LedgerNoMoreInvoices",
      "LedgerNotPermitted",
      "LedgerUnrecognizedStatus"
    ],
    "LedgerProblem": [
      "LedgerFailed",
      "LedgerNoMoreInvoices",
      "LedgerNotPermitted",
      "LedgerOutcomeUnknown",
      "LedgerUnrecognizedStatus"
    ],
    "LedgerStatus": [
      "ApproversSaved",
      "GlCodeList",
      "LedgerFailed",
      "LedgerNoMoreInvoices",
      "LedgerNotPermitted",
      "LedgerUnrecognizedStatus",
      "WorkflowActionCompleted"
    ],
    "SaveApproversResult": [
      "ApproversSaved",
      "LedgerFailed",
      "LedgerNoMoreInvoices",
      "LedgerNotPermitted",
      "LedgerOutcomeUnknown",
      "LedgerUnrecognizedStatus"
    ],
    "UploadWorkflowCsvResult": [
      "LedgerFailed",
      "LedgerNoMoreInvoices",
      "LedgerNotPermitted",
      "LedgerOutcomeUnknown",
      "LedgerUnrecognizedStatus",
      "WorkflowCsvUploaded"
    ],
    "WorkflowActionResult": [
      "LedgerFailed",
      "LedgerNoMoreInvoices",
      "LedgerNotPermitted",
      "LedgerOutcomeUnknown",
      "LedgerUnrecognizedStatus",
      "WorkflowActionCompleted"
    ],
    "WriteOutcome": [
      "ApproversSaved",
      "LedgerFailed",
      "LedgerNoMoreInvoices",
      "LedgerNotPermitted",
      "LedgerOutcomeUnknown",
      "LedgerUnrecognizedStatus",
      "WorkflowActionCompleted",
      "WorkflowCsvUploaded"
    ]
  }
};
      export default result;
    