import { configure } from '@testing-library/react';

// Only so that a busy machine fails no test.
configure({ asyncUtilTimeout: 20_000 });
