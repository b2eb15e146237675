import type { CodegenConfig } from '@graphql-codegen/cli';
import { addTypenameSelectionDocumentTransform } from '@graphql-codegen/client-preset';

const config: CodegenConfig = {
  overwrite: true,
  schema: '../../schema.client.graphql',
  documents: [
    'src/**/*.graphql',
    // What `settle` sends has to be in the manifest, too. Outside of this repository, it is in
    // node_modules/@ledger-gateway/client/dist/settle-document.js.
    '../../packages/client/src/settle-document.ts',
  ],
  config: {
    useTypeImports: true,
    strictScalars: true,
    scalars: { ID: 'string', WorkflowCsvOption: 'number' },
    enumType: 'const',
    namingConvention: { enumValues: 'keep' },
    importExtension: '.ts',
    emitLegacyCommonJSImports: false,
    nonOptionalTypename: true,
  },
  generates: {
    'src/gql/': {
      preset: 'client',
      presetConfig: {
        fragmentMasking: false,
        // Writes persisted-documents.json, the manifest for the gateway's TRUSTED_DOCUMENTS.
        persistedDocuments: { hashAlgorithm: 'sha256' },
      },
      // The manifest has to contain the __typename fields that Apollo Client adds to the documents.
      documentTransforms: [addTypenameSelectionDocumentTransform],
    },
  },
};

export default config;
