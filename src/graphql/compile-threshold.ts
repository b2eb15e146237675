/** A query is compiled when it is executed for this time: most that occur only once never are. */
export const COMPILE_AT = 3;
