/** A count of writes lasts for a minute, in seconds. It has no limit of its own: each rule of a policy has one. */
export const counterOptions = { duration: 60, points: Number.MAX_SAFE_INTEGER };
