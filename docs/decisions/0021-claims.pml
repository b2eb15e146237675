/*
 * The claims of one idempotency key: two gateways at a time and more requests after them, one store that may lose its
 * tail once, and one client that repeats and settles. 0021-claims-as-a-model.md explains it and has the results.
 *
 * Times are reduced to what matters: whether the store lost records after the client's first request, and whether the
 * lease of a claim has ended, after which its sender does not send any more.
 */

#define FREE 0
#define CLAIMED 1
#define RECORDED 2
#define ORPHANED 3

#ifndef REPEATS
#define REPEATS 2
#endif
#define VERSIONS 24

/* The record of the key. A version is new with every change, and decides every swap. */
byte state = FREE;
bool settled;
byte version;
byte newest;
/* The part of it that a loss leaves. */
byte keptState = FREE;
bool keptSettled;
byte keptVersion;
/* The version of the record of completeness, and what it says about the key. */
byte generation;
bool lostSinceFirst;
bool mayLose = true;

bool firstSent;
byte executed;
/* What the client was told: empty and complete, or orphaned. */
bool toldNever;
bool toldOrphaned;
/* By the version of a claim. */
bool leaseEnded[VERSIONS];

inline replace(newState) {
  newest++;
  version = newest;
  state = newState
}

/* A request. The age of a repeat reaches back to the first request, which has the age 0. */
proctype Request(bool isFirst) {
  byte basis;
  byte seen;
  bool isForgotten;
  byte own;
  bool isDone;

  do
  :: isDone -> break
  :: else ->
     /* The record and the basis are read before the swap, and may change in between. */
     d_step {
       basis = generation;
       isForgotten = !isFirst && lostSinceFirst;
       seen = version
     };
     if
#ifndef LONG_WAY
     /* Assumed: no request with the age 0 is on its way from before a loss until after it. */
     :: isFirst && lostSinceFirst -> isDone = true
#endif
     :: d_step {
          state == CLAIMED && seen == version && basis == generation ->
          /* Its lease has ended. Who reports that writes so first. */
          leaseEnded[version] = true;
          replace(ORPHANED);
          toldOrphaned = true;
          isDone = true
        }
     :: d_step { state != FREE || settled -> isDone = true } /* In progress, a replay, orphaned, or settled. */
     :: d_step {
          state == FREE && !settled && seen == version && basis == generation &&
#ifndef LONG_WAY
          !(isFirst && lostSinceFirst) &&
#endif
          true ->
#ifndef NO_AGE_RULE
          if
          :: isForgotten -> replace(ORPHANED); toldOrphaned = true
          :: else -> replace(CLAIMED); own = version; assert(isFirst || !toldOrphaned)
          fi;
#else
          replace(CLAIMED);
          own = version;
#endif
          isDone = true
        }
     :: seen != version || basis != generation -> skip /* Reads again. */
     fi
  od;

  if
  :: own == 0
  :: own != 0 ->
     if
     :: skip /* The gateway dies. */
     :: d_step { /* Not sent: frees the key, unless its lease has ended. */
          if
          :: version == own && !leaseEnded[own] -> replace(FREE)
          :: else
          fi
        }
     :: atomic { !leaseEnded[own] ->
          executed++;
          assert(executed <= 1);
          assert(!toldNever)
        };
        if
        :: skip /* The gateway dies before it records. */
        :: d_step { /* Also if the store has lost the claim. */
             if
             :: version == own || state == ORPHANED || state == FREE -> replace(RECORDED)
             :: else
             fi
           }
        fi
     fi
  fi
}

proctype Settle() {
  byte basis;
  byte seen;
  byte seenState;
  bool isComplete;
  bool isDone;

  do
  :: isDone -> break
  :: else ->
     d_step {
       basis = generation;
       isComplete = !lostSinceFirst;
#ifdef NO_AGE_RULE
       isComplete = true;
#endif
       seen = version;
       seenState = state
     };
     d_step {
       if
       :: seen == version && basis == generation ->
          settled = true;
          replace(state);
          /* The owner of a claim knows its record by the version before. */
          leaseEnded[version] = leaseEnded[seen];
          isDone = true;
          if
          :: seenState == FREE && isComplete ->
             toldNever = true;
             assert(executed == 0)
          :: else
          fi
       :: else
       fi
     }
  od
}

/*
 * Makes a part of the records durable at any time, and loses the rest once. The gateways use a store after a loss only
 * when the record of completeness says so, so both are one step.
 */
proctype Store() {
  do
  :: d_step { keptState = state; keptSettled = settled; keptVersion = version }
  :: d_step {
       mayLose ->
       mayLose = false;
       state = keptState;
       settled = keptSettled;
       version = keptVersion;
       generation++;
       lostSinceFirst = firstSent
     }
  :: break
  od
}

init {
  byte n;
  run Store();
  firstSent = true;
  run Request(true);
  do
  :: n < REPEATS -> n++; run Request(false)
  :: break
  od;
  run Settle();
  if
  :: run Request(false) /* A late copy. */
  :: skip
  fi
}
