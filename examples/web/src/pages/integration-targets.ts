import { IntegrationTarget } from '../gql/graphql.ts';

const named: Partial<Record<IntegrationTarget, string>> = {
  EMAIL: 'Email',
  FILE_TRANSFER: 'File transfer',
  GATEWAY: 'Gateway',
  CUSTOM_WORKFLOW: 'Custom workflow',
  ELECTRONIC_INVOICE: 'Electronic invoice',
  SAVE_AND_SEARCH: 'Save and search',
  STORAGE_DEVICE: 'Storage device',
};

/** Every target with its label, those with a name first. */
export const integrationTargets: readonly { target: IntegrationTarget; label: string }[] = [
  ...Object.values(IntegrationTarget).filter((target) => named[target] !== undefined),
  ...Object.values(IntegrationTarget).filter((target) => named[target] === undefined),
].map((target) => ({ target, label: named[target] ?? fallbackLabel(target) }));

function fallbackLabel(target: IntegrationTarget): string {
  return target === 'UNKNOWN' ? 'Unknown system' : target.replace('TARGET_', 'System ');
}

/** The target of a label, in capitals or not. Undefined for other texts. */
export function targetOf(label: string): IntegrationTarget | undefined {
  const text = label.trim().toLowerCase();
  return integrationTargets.find((entry) => entry.label.toLowerCase() === text)?.target;
}
