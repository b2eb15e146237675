import { Component, DestroyRef, inject, signal } from '@angular/core';
import { createWrite, isLocked } from '@ledger-gateway/client';
import { restart, textOf } from './restart';

@Component({
  selector: 'app-restart-button',
  template: `
    @let current = state();
    <button [disabled]="isLocked(current)" (click)="write.submit()">Restart the workflow</button>
    <p role="status">{{ textOf(current) }}</p>
    @if (current.phase === 'sending') {
      <button (click)="write.cancel()">Cancel</button>
    }
    @if (current.phase === 'unknown' && current.mayAsk) {
      <button (click)="write.askAgain()">Ask again</button>
    }
    @if (current.phase === 'unknown' && current.mayDismiss) {
      <button (click)="write.dismiss()">I have checked</button>
    }
  `,
})
export class RestartButton {
  protected readonly write = createWrite(restart);
  protected readonly state = signal(this.write.getState());
  protected readonly isLocked = isLocked;
  protected readonly textOf = textOf;

  constructor() {
    const unsubscribe = this.write.subscribe((next) => this.state.set(next));
    inject(DestroyRef).onDestroy(unsubscribe);
  }
}
