/*
 * The claims of one idempotency key in a file that one process at a time opens exclusively: a few starts of two
 * gateways, an operator who moves the file away, deletes its log, or restores an older copy, and a client that
 * sends, repeats, settles and sends a late copy. 0021-claims-as-a-model.md explains it and has the results.
 */

#define FREE 0
#define CLAIMED 1
#define ORPHANED 2

#ifndef FAULTS
#define FAULTS 1
#endif
#define STARTS (FAULTS + 2)
#define FILES (FAULTS + 3) /* A file is known by its inode, the index. 0: none. */

typedef Content {
  byte state;
  bool settled;
  /* "Complete since" is later than the client's first request. */
  bool lostSinceFirst;
  /* The last process that opened the file noted its inode, and closed it in an orderly way. */
  byte inode;
  bool isClosed
};

typedef File {
  Content now;
  Content withoutLog;
  bool hasLog;
  /* Written over since it was closed, as its time of change shows. */
  bool isChanged
};

File file[FILES];
byte atPath;
byte files;
Content copy;
Content none;
bool hasCopy;

/* The file that a gateway has opened, and which of its runs this is. */
byte opened[2];
byte runs[2];
byte starts;
byte faults;

/* The client repeats, settles and sends a late copy, in turns, while its first request may be on its way. */
byte turn;
bool firstSent;
byte executed;
bool toldNever;

inline assign(to, from) {
  to.state = from.state;
  to.settled = from.settled;
  to.lostSinceFirst = from.lostSinceFirst;
  to.inode = from.inode;
  to.isClosed = from.isClosed
}

/* Forgets a file that nobody can use any more, so that there are fewer states. */
inline forget(f) {
#ifndef OLD_FILE_BACK
  if
  :: f != atPath && f != opened[0] && f != opened[1] ->
     assign(file[f].now, none);
     assign(file[f].withoutLog, none);
     file[f].hasLog = false;
     file[f].isChanged = false
  :: else
  fi
#else
  skip
#endif
}

#ifdef NO_LOCK
#define IS_LOCKED false
#else
#define IS_LOCKED (atPath != 0 && (opened[0] == atPath || opened[1] == atPath))
#endif

/* The gateways are alike, so the second one starts only beside the first. */
inline start(g) {
  d_step {
    opened[g] == 0 && (g == 0 || opened[0] != 0) && starts < STARTS && files < FILES - 1 && !IS_LOCKED ->
    starts++;
    runs[g]++;
    if
    :: atPath == 0 -> files++; atPath = files; file[atPath].now.lostSinceFirst = firstSent
    :: else ->
#ifndef NO_SAME_FILE
       if
       :: file[atPath].now.inode != atPath ||
          (file[atPath].now.isClosed && file[atPath].isChanged) ||
          (!file[atPath].now.isClosed && !file[atPath].hasLog) ->
          file[atPath].now.lostSinceFirst = firstSent
       :: else
       fi;
#endif
       /* The senders of earlier claims had the file open, so they have ended. */
       if
       :: file[atPath].now.state == CLAIMED -> file[atPath].now.state = ORPHANED
       :: else
       fi
    fi;
    opened[g] = atPath;
    assert(opened[1 - g] != atPath); /* One file, one process. */
    file[atPath].now.inode = atPath;
    file[atPath].now.isClosed = false;
    file[atPath].isChanged = false;
    file[atPath].hasLog = true;
    assign(file[atPath].withoutLog, file[atPath].now)
  }
}

inline stop(g) {
  d_step {
    opened[g] != 0 ->
    old = opened[g];
    /* One that was moved away is not noted as closed. */
    file[opened[g]].now.isClosed = (opened[g] == atPath);
    file[opened[g]].hasLog = false;
    assign(file[opened[g]].withoutLog, file[opened[g]].now);
    opened[g] = 0;
    forget(old);
    old = 0
  }
}

inline kill(g) {
  d_step { opened[g] != 0 -> old = opened[g]; opened[g] = 0; forget(old); old = 0 }
}

inline checkpoint(g) {
  d_step { opened[g] != 0 -> assign(file[opened[g]].withoutLog, file[opened[g]].now) }
}

/* Another file, or none, is at the path from now on. Without faults left, no copy is needed. */
inline place(f) {
  faults++;
  old = atPath;
  atPath = f;
  if
  :: old != 0 -> forget(old)
  :: else
  fi;
  old = 0;
  if
  :: faults == FAULTS -> assign(copy, none); hasCopy = false
  :: else
  fi
}

#define IN_USE (opened[0] == atPath || opened[1] == atPath)

proctype World() {
  byte old;
end:
  do
  :: start(0)
  :: start(1)
  :: stop(0)
  :: stop(1)
  :: kill(0)
  :: kill(1)
  :: checkpoint(0)
  :: checkpoint(1)
  :: d_step { faults < FAULTS && atPath != 0 && !hasCopy ->
       hasCopy = true;
#ifdef HOT_COPY
       assign(copy, file[atPath].now) /* Also of its log. */
#else
       assign(copy, file[atPath].withoutLog)
#endif
     }
  :: d_step { faults < FAULTS && atPath != 0 -> place(0) } /* Moved away, also while it is used. */
#ifdef OLD_FILE_BACK
  :: d_step { faults < FAULTS && atPath > 1 && !IN_USE -> place(1) } /* And back, instead of a newer one. */
#endif
  :: d_step { faults < FAULTS && atPath != 0 && !IN_USE && file[atPath].hasLog -> /* Its log is deleted. */
       file[atPath].hasLog = false;
       assign(file[atPath].now, file[atPath].withoutLog);
       place(atPath)
     }
  :: d_step { faults < FAULTS && hasCopy && files < FILES - 1 -> /* Restored by a rename. */
       files++;
       assign(file[files].now, copy);
       assign(file[files].withoutLog, copy);
       place(files)
     }
  :: d_step { faults < FAULTS && hasCopy && atPath != 0 && !IN_USE -> /* Restored in its place. */
       assign(file[atPath].now, copy);
       assign(file[atPath].withoutLog, copy);
       file[atPath].isChanged = true;
#ifdef HOT_COPY
       file[atPath].hasLog = true;
#else
       file[atPath].hasLog = false;
#endif
       place(atPath)
     }
  od
}

#ifdef NO_MOVED_RULE
#define IS_MOVED false
#else
#define IS_MOVED (opened[g] != atPath)
#endif
#define ALIVE (opened[g] != 0 && runs[g] == nth)

/* Picks a gateway that runs, and checks that its file is not moved. The commit is a step of its own. */
inline begin() {
  if
  :: d_step { opened[0] != 0 -> g = 0; nth = runs[0] }
  :: d_step { opened[1] != 0 -> g = 1; nth = runs[1] }
  :: true -> goto done /* No response. */
  fi;
  if
  :: d_step { ALIVE && !IS_MOVED -> skip }
  :: else -> goto done
  fi
}

proctype Request(bool isFirst; byte myTurn) {
  byte g;
  byte nth;
  bool isClaimed;

  (isFirst || turn == myTurn);
  begin();
  d_step {
    if
    :: !ALIVE
    :: else ->
       if
       /* Assumed, as in claims.pml: no request with the age 0 is on its way from before a loss until after it. */
       :: isFirst && file[opened[g]].now.lostSinceFirst
       :: file[opened[g]].now.state == FREE && !file[opened[g]].now.settled &&
          !(isFirst && file[opened[g]].now.lostSinceFirst) ->
          if
          :: file[opened[g]].now.lostSinceFirst -> file[opened[g]].now.state = ORPHANED
          :: else -> file[opened[g]].now.state = CLAIMED; isClaimed = true
          fi
       :: else
       fi
    fi
  };
  if
  :: isClaimed && ALIVE ->
     if
     :: skip /* It ends before it sends. */
     :: d_step { ALIVE && !IS_MOVED && file[opened[g]].now.state == CLAIMED ->
          file[opened[g]].now.state = FREE /* Not sent. */
        }
     :: d_step { ALIVE ->
          executed++;
          assert(executed <= 1);
          assert(!toldNever)
        }
     fi
  :: else
  fi;
  done: skip;
  d_step { g = 0; nth = 0; isClaimed = false; turn = (isFirst -> turn : turn + 1) }
}

proctype Settle() {
  byte g;
  byte nth;

  (turn == 1);
  begin();
  d_step {
    if
    :: !ALIVE
    :: else ->
       file[opened[g]].now.settled = true;
       if
       :: file[opened[g]].now.state == FREE && !file[opened[g]].now.lostSinceFirst ->
          toldNever = true;
          assert(executed == 0)
       :: else
       fi
    fi
  };
  done: skip;
  d_step { g = 0; nth = 0; turn++ }
}

init {
  run World();
  firstSent = true;
  run Request(true, 0);
  run Request(false, 0);
  run Settle();
  run Request(false, 2)
}
