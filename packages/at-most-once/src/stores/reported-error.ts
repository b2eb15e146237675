/** The text of an error that a server reports, without what it quotes, and without numbers and addresses: they may be values. */
export function withoutValues(text: string): string {
  const [message = ''] = text.split(/, with args| script: |, on @/);
  const quoted = /'[^']*'|"[^"]*"|`[^`]*`|[«»„][^«»“]*[«»“]|\S*\d\S*/g;
  return message.replace(quoted, '…').slice(0, 200);
}
