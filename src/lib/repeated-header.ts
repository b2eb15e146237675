/** Whether a request has several headers of this lower-case name. For some names, Node silently keeps only the first one. */
export function isRepeated({ rawHeaders }: { rawHeaders: string[] }, name: string) {
  let count = 0;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const given = rawHeaders[at];
    if (given?.length === name.length && given.toLowerCase() === name) count += 1;
  }
  return count > 1;
}
