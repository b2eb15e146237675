import { type Client, ModelStore } from './model-store.ts';
import { Observer, Violation } from './observer.ts';
import { Random } from './random.ts';
import {
  type Answer,
  type Call,
  type KeyedRequest,
  type Outcome,
  SimulatedGateway,
  WithoutEffect,
} from './simulated-gateway.ts';
import { time } from './virtual-time.ts';

/** A request is on its way, or waits in a gateway, for at most so long: docs/explanation/at-most-once.md. */
const TRANSIT_MS = 30_000;
/** After so long without a fault, each lease has ended, and each loss is noted. */
const CALM_MS = 60_000;
/** For so long after a failure of the store, no lease ends. */
const STORE_FAILED_MS = 11_000;
const HOUR_MS = 3_600_000;

/** A request, and whether it did nothing: the response says so of each of its fields. */
type Sent = { sentAt: number; isError: boolean };

/** An intent of a user, with the requests of its client. */
type Intent = { key: string; fields: string[]; observer: Observer; sent: Sent[] };

/**
 * One run of some gateways, their store, the service, and the client of an intent, with everything chosen by a seed. Throws
 * a Violation if a gateway breaks a promise.
 */
export class Schedule {
  readonly #random: Random;
  readonly #trace: (line: string) => void;
  readonly #store: ModelStore;
  #gateways: SimulatedGateway[] = [];
  readonly #timeoutMs: number;
  #retentionMs: number;
  #requests = 0;
  /** Requests in a gateway, also in one that was killed. */
  #open = 0;
  readonly #intents = new Map<string, Intent>();
  #freezesNext = false;
  /** Until a fault that loses records, or whose gateway cannot release its claims. */
  #isCalm = false;
  readonly #failure = Promise.withResolvers<never>();

  constructor(seed: number, trace: (line: string) => void = () => {}) {
    time.reset();
    this.#random = new Random(seed);
    this.#trace = (line) => trace(`${(time.now / 1000).toFixed(3).padStart(9)} s  ${line}`);
    let versions = 0;
    Object.defineProperty(crypto, 'randomUUID', {
      configurable: true,
      value: () => `${seed}-${versions++}`,
    });
    this.#store = new ModelStore(this.#random, (text) => this.#noteWrite(text));
    this.#timeoutMs = this.#random.pick([500, 2000]);
    this.#retentionMs = this.#random.pick([90_000, 24 * HOUR_MS, 24 * HOUR_MS]);
    this.#failure.promise.catch(() => {});
  }

  /** Rejects with a Violation. */
  async run(): Promise<void> {
    const random = this.#random;
    for (let n = random.integer(1, 3); n > 0; n--) this.#startGateway();
    // The records of most stores reach back to before an intent.
    const isOld = random.chance(0.8);
    const running = this.#runAll(isOld);
    await time.runUntil(Promise.race([running, this.#failure.promise]));
    for (const gateway of this.#gateways) gateway.kill();
  }

  async #runAll(isOld: boolean): Promise<void> {
    const random = this.#random;
    await time.sleep(isOld ? random.between(100, 4000) : random.between(0, 500));
    if (isOld) {
      time.skip(random.between(6000, 100_000));
      await time.sleep(2100); // Each gateway reads the clock of the store again.
    }
    const reachesBack = time.now > TRANSIT_MS + 5000 && this.#retentionMs > HOUR_MS;
    this.#isCalm = reachesBack && this.#gateways.length === 1;
    this.#store.lostShare = random.pick([0, 0, 0.05, 0.2]);
    this.#store.slowShare = random.pick([0, 0.05, 0.2]);
    const failing = this.#runFaults();
    const clients = Array.from({ length: random.integer(1, 2) }, (_, n) => this.#runClient(n));
    await Promise.all([failing, ...clients]);
    await this.#end();
  }

  // The gateways and their store.

  #startGateway(): void {
    const options = { timeoutMs: this.#timeoutMs, retentionMs: this.#retentionMs };
    const serve = (client: Client, call: Call) => this.#serve(client, call);
    this.#gateways.push(new SimulatedGateway(this.#store, serve, options));
  }

  async #runFaults(): Promise<void> {
    const random = this.#random;
    for (let n = random.integer(0, 4); n > 0; n--) {
      await time.sleep(random.between(0, random.pick([2000, 2000, 10_000, 40_000])));
      const [name, act, isCalm = false] = random.pick(this.#faults);
      this.#trace(name);
      act();
      if (!isCalm) for (const { observer } of this.#intents.values()) observer.isCalm = false;
      this.#isCalm &&= isCalm;
    }
  }

  readonly #faults: [name: string, act: () => void, isCalm?: boolean][] = [
    ['the store loses its newest changes', () => this.#store.loseChanges()],
    ['another server without a loss', () => this.#store.failOver()],
    ['the store is emptied', () => this.#store.empty()],
    ['the store hangs', () => this.#hang(this.#random.pick([1500, 5000, 20_000])), true],
    ['the store is unreachable', () => this.#interrupt(this.#random.pick([500, 5000])), true],
    ['the clock of the store is set back', () => this.#setClockBack()],
    ['a gateway is killed', () => this.#replaceGateway()],
    ['a gateway is killed', () => this.#replaceGateway()],
    ['a gateway freezes at the next change', () => this.#freezeNext()],
    ['a gateway freezes at the next change', () => this.#freezeNext()],
    ['a gateway freezes', () => this.#freeze(this.#random.pick([1000, 10_000, 25_000]))],
    ['a gateway with another retention', () => this.#changeRetention()],
  ];

  #hang(ms: number): void {
    this.#store.hangsUntil = time.now + ms;
  }

  #interrupt(ms: number): void {
    this.#store.isReachable = false;
    time.after(ms, () => {
      this.#store.isReachable = true;
    });
  }

  #setClockBack(): void {
    this.#store.setClockBack(this.#random.pick([50, 5000, HOUR_MS]));
  }

  #replaceGateway(): void {
    const index = this.#random.integer(0, this.#gateways.length - 1);
    this.#gateways.splice(index, 1)[0]?.kill();
    this.#startGateway();
  }

  #freeze(ms: number): void {
    this.#random.pick(this.#gateways).frozenUntil = time.now + ms;
  }

  /** Between a claim in the store and its reply, for example. */
  #freezeNext(): void {
    this.#freezesNext = true;
  }

  #changeRetention(): void {
    this.#retentionMs = this.#random.pick([90_000, 120_000, 24 * HOUR_MS]);
    this.#replaceGateway();
  }

  // The service.

  async #serve(client: Client, call: Call): Promise<Outcome> {
    const { id, key, responseName, timeoutMs, receivedAt } = call;
    const random = this.#random;
    const intent = this.#intents.get(key);
    const wake = () => new Promise<void>((resolve) => client.whenAwake(resolve));
    const fail = async () => {
      await wake();
      throw new WithoutEffect();
    };
    if (timeoutMs === 0) return fail();
    intent?.observer.send(responseName);
    const responseMs = random.pick([5, 50, timeoutMs / 2, timeoutMs]);
    const what = random.pick(['sent', 'sent', 'sent', 'lost', 'late', 'unsent', 'refused']);
    const arrivalMs = random.between(0, responseMs);
    const text = `${responseName} by ${id}`;
    const execute = () =>
      this.#check(() => {
        this.#trace(`the service executes ${text}`);
        intent?.observer.execute(responseName, { id, receivedAt });
      });
    if (what === 'late') time.after(timeoutMs + random.between(0, 3000), execute);
    if (what === 'sent' || what === 'lost') time.after(arrivalMs, execute);
    await time.sleep(what === 'late' ? timeoutMs : responseMs);
    if (what === 'unsent' || what === 'refused') return fail();
    await wake();
    return what === 'sent' ? text : { code: 'TIMEOUT', requestId: id };
  }

  // The client.

  /** Sends, repeats and settles an intent as docs/reference/idempotency-keys.md says. */
  async #runClient(n: number): Promise<void> {
    const random = this.#random;
    const fields = random.pick([['a'], ['a'], ['a', 'b']]);
    const key = `key${n}`;
    const intent = { key, fields, observer: new Observer(key, fields), sent: [] };
    intent.observer.isCalm = this.#isCalm;
    this.#intents.set(key, intent);
    for (let n = random.integer(1, 4); n > 0; n--) {
      await this.#send(intent);
      await time.sleep(random.between(0, random.pick([300, 3000, 40_000])));
    }
    if (random.chance(0.5)) return;
    for (let n = random.integer(1, 2); n > 0; n--) await this.#settle(intent);
    if (random.chance(0.5)) await this.#send(intent);
  }

  #noteWrite(text: string): void {
    this.#trace(`the store has ${text}`);
    if (this.#freezesNext) this.#freeze(this.#random.pick([10_000, 25_000]));
    this.#freezesNext = false;
    if (!text.includes('"isOrphaned":true')) return;
    for (const { observer } of this.#intents.values()) observer.isOrphaned = true;
  }

  /** Sends the request of an intent, and maybe a copy of it, and waits for a response, but not for ever. */
  async #send(intent: Intent): Promise<void> {
    const sent: Sent = { sentAt: time.now, isError: false };
    const ageMs = ageOf(intent, time.now);
    intent.sent.push(sent);
    this.#trace(`sends ${intent.key} with the age ${ageMs}`);
    const copies = this.#random.chance(0.2) ? 2 : 1;
    const responses = Array.from({ length: copies }, () =>
      this.#deliver(intent, ageMs, (gateway, request) => this.#execute(intent, gateway, request)),
    );
    const answers = await this.#firstOf(responses, isError);
    sent.isError = answers !== undefined && isError(answers);
  }

  async #execute(intent: Intent, gateway: SimulatedGateway, request: KeyedRequest) {
    const answers: Answer[] = [];
    for (const field of intent.fields) {
      const answer = await gateway.write(request, field);
      if (!gateway.isAlive) return undefined;
      this.#check(() => {
        this.#trace(`${request.id}: ${field} is ${textOf(answer)}`);
        const { observer } = intent;
        if ('error' in answer) observer.sayError(field, answer.error, request);
        else observer.sayOutcome(field, answer.outcome, time.now);
      });
      answers.push(answer);
    }
    return answers;
  }

  async #settle(intent: Intent) {
    const ageMs = Math.ceil(time.now - (intent.sent[0]?.sentAt ?? time.now));
    this.#trace(`settles ${intent.key} with the age ${ageMs}`);
    intent.observer.isSettling = true;
    intent.sent.push({ sentAt: time.now, isError: false }); // From now on, no request has the age 0.
    const response = this.#deliver(intent, ageMs, async (gateway, request) => {
      const settled = await gateway.settle(request);
      if (!gateway.isAlive) return undefined;
      this.#check(() => {
        this.#trace(`${request.id}: settled ${JSON.stringify(settled, replaceMap)}`);
        if ('error' in settled) return;
        const { outcomes, isComplete } = settled;
        for (const [field, outcome] of outcomes) {
          intent.observer.sayOutcome(field, outcome, time.now);
        }
        intent.observer.saySettled([...outcomes.keys()], isComplete, time.now);
      });
      return settled;
    });
    return this.#firstOf([response]);
  }

  /** Brings a request to a gateway. Resolves to undefined if there is no response. */
  async #deliver<Result>(
    { key }: Intent,
    ageMs: number,
    execute: (gateway: SimulatedGateway, request: KeyedRequest) => Promise<Result | undefined>,
  ): Promise<Result | undefined> {
    const random = this.#random;
    const sentAt = time.now;
    const gateway = random.pick(this.#gateways);
    const id = `r${this.#requests++}`;
    await time.sleep(random.between(0, random.pick([10, 10, 10, TRANSIT_MS])));
    await new Promise<void>((resolve) => gateway.whenAwake(resolve));
    if (time.now > sentAt + TRANSIT_MS) return undefined; // It was lost.
    this.#open += 1;
    const result = await execute(gateway, { id, key, ageMs, receivedAt: time.now });
    this.#open -= 1;
    if (random.chance(0.2)) return undefined;
    await time.sleep(random.between(0, 10));
    return result;
  }

  /**
   * The response that the client gets of those to a request and its copies, or undefined if none arrives in time. That a
   * request did nothing is only known when no copy of it is on its way any more.
   */
  #firstOf<Result>(
    responses: Promise<Result | undefined>[],
    isError = (_: Result) => false,
  ): Promise<Result | undefined> {
    const { promise, resolve } = Promise.withResolvers<Result | undefined>();
    const receive = (result: Result | undefined) => {
      if (result !== undefined && !isError(result)) resolve(result);
      return result;
    };
    const all = Promise.all(responses.map((response) => response.then(receive)));
    all.then((results) => {
      resolve(results.includes(undefined) ? undefined : results[0]);
    }, this.#failure.reject);
    time.after(this.#random.pick([60, 3000, 10_000]), () => resolve(undefined));
    return promise;
  }

  /** When nothing fails any more and every lease has ended, each gateway knows what became of an intent. */
  async #end(): Promise<void> {
    this.#freezesNext = false;
    this.#store.lostShare = 0;
    this.#store.slowShare = 0;
    await time.sleep(5000);
    // A request that is on its way, or waits in a gateway, is not older than it may be.
    const end = time.now + TRANSIT_MS;
    while (this.#open > 0 && time.now < end) await time.sleep(1000);
    time.skip(CALM_MS);
    await time.sleep(STORE_FAILED_MS);
    for (const intent of this.#intents.values()) {
      for (const gateway of this.#gateways) await this.#ask(intent, gateway);
    }
  }

  async #ask(intent: Intent, gateway: SimulatedGateway): Promise<void> {
    const id = `r${this.#requests++}`;
    const ageMs = ageOf(intent, time.now);
    const request = { id, key: intent.key, ageMs, receivedAt: time.now };
    const answers = (await this.#execute(intent, gateway, request)) ?? [];
    for (const text of answers.map(textOf)) {
      // With the age 0, a loss may have been noted only now.
      const isUnavailable = text === 'UNAVAILABLE' && ageMs > 0;
      if (!isUnavailable && !text.startsWith('IN_PROGRESS')) continue;
      throw new Violation(`${id} of ${intent.key} is ${text} at the end`);
    }
  }

  #check(statement: () => void): void {
    try {
      statement();
    } catch (error) {
      this.#failure.reject(error);
    }
  }
}

/**
 * How long ago the client sent the first request that is still unanswered. An error of each field says that a request did
 * nothing.
 */
function ageOf({ sent }: Intent, now: number): number {
  const since = sent.find(({ isError }) => !isError)?.sentAt ?? now;
  return Math.ceil(now - since);
}

/** Whether a response says of each field that it did nothing. */
const isError = (answers: Answer[]) => answers.every((answer) => 'error' in answer);

function textOf(answer: Answer): string {
  if ('error' in answer) return answer.error;
  const { outcome } = answer;
  return typeof outcome === 'string' ? outcome : `${outcome.code} of ${outcome.requestId}`;
}

const replaceMap = (_: string, value: unknown) => (value instanceof Map ? [...value] : value);
