/** Replaces the threshold of src/ in `npm run test:compiled`. */
export const COMPILE_AT = 1;
