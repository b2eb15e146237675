import { graphql } from 'relay-runtime';

export const restartMutation = graphql`
  mutation relayRestartMutation {
    workflowAction(action: RESTART) {
      __typename
      ... on LedgerProblem {
        message
      }
      ... on LedgerOutcomeUnknown {
        code
        requestId
      }
    }
  }
`;
