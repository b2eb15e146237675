import { WorkflowAction } from '../gql/graphql.ts';
import type { Words } from '../notice.ts';

type ActionWords = Words & {
  readonly label: string;
  readonly success: string;
  /** What the ledger does, for the confirmation. */
  readonly effect: string;
  /** What the action is about. No request names which one. */
  readonly object: 'workflow' | 'solution' | 'solution guide' | 'account';
};

/** How the app talks about each action. One that is missing here does not compile. */
export const workflowActions: Readonly<Record<WorkflowAction, ActionWords>> = {
  RESTART: {
    label: 'Restart the workflow',
    effect: 'The ledger restarts the workflow.',
    object: 'workflow',
    toDo: 'restart the workflow',
    done: 'the workflow was restarted',
    success: 'The workflow was restarted.',
    nothingDone: 'The workflow was not restarted.',
  },
  RESTART_AND_MOVE_TO_NEXT: {
    label: 'Restart the workflow and move to the next',
    effect: 'The ledger restarts the workflow and moves to the next.',
    object: 'workflow',
    toDo: 'restart the workflow and move to the next',
    done: 'the workflow was restarted and moved to the next',
    success: 'The workflow was restarted and moved to the next.',
    nothingDone: 'The workflow was not restarted.',
  },
  RESTORE_SOLUTION: {
    label: 'Restore the solution',
    effect: 'The ledger restores the solution.',
    object: 'solution',
    toDo: 'restore the solution',
    done: 'the solution was restored',
    success: 'The solution was restored.',
    nothingDone: 'The solution was not restored.',
  },
  RESTORE_GLOBAL_SOLUTION: {
    label: 'Restore the global solution',
    effect: 'The ledger restores the global solution.',
    object: 'solution',
    toDo: 'restore the global solution',
    done: 'the global solution was restored',
    success: 'The global solution was restored.',
    nothingDone: 'The global solution was not restored.',
  },
  UPDATE_SOLUTION_GUIDE: {
    label: 'Update the solution guide',
    effect: 'The ledger updates the solution guide.',
    object: 'solution guide',
    toDo: 'update the solution guide',
    done: 'the solution guide was updated',
    success: 'The solution guide was updated.',
    nothingDone: 'The solution guide was not updated.',
  },
  UPGRADE_TO_HQ: {
    label: 'Upgrade to HQ',
    effect: 'The ledger upgrades the account to HQ.',
    object: 'account',
    toDo: 'upgrade to HQ',
    done: 'the account was upgraded to HQ',
    success: 'The account was upgraded to HQ.',
    nothingDone: 'The account was not upgraded.',
  },
};

/** How the app talks about an action that it does not know, such as one from before a sign-out. */
const someAction: Words = {
  toDo: 'run the action',
  done: 'the action was run',
  nothingDone: 'The action was not run.',
};

export const wordsOf = (action: WorkflowAction | null): Words =>
  action === null ? someAction : workflowActions[action];

export const actionNames = Object.values(WorkflowAction);
