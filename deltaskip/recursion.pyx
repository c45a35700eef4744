"""Recursion whose depth is bounded by memory, and not by the stack of one thread.

Python limits the calls on the stack of a thread to 1,000, and deeper calls of compiled code crash the process. A
function that is `deep` counts its calls on the stack of its thread; where few more are safe, it continues on the stack
of another thread, for which its own thread waits. Python's recursion limit stays as it is.
"""

import _thread
import contextvars
import functools
import sys
import types
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeVar

    _F = TypeVar("_F", bound=Callable[..., Any])

cdef extern from *:
    """
    #include <stdint.h>
    #if defined(__linux__) || defined(__APPLE__)
    #include <pthread.h>
    #endif

    static _Thread_local int calls_here;       /* calls of deep functions on the stack of this thread */
    static _Thread_local int most_here;        /* how many there may be before the stack is looked at again */
    static _Thread_local void* segment_here;   /* the _Segment that runs on this thread; NULL on threads of others */
    static _Thread_local char* stack_end;

    /* Bytes of the thread's stack that are left; a large number where the system does not tell. */
    static int64_t stack_left(void) {
        char here;
        if (stack_end == 0) {
    #if defined(__linux__)
            pthread_attr_t attributes;
            void* low = 0;
            size_t size = 0;
            if (pthread_getattr_np(pthread_self(), &attributes) == 0) {
                if (pthread_attr_getstack(&attributes, &low, &size) == 0) stack_end = (char*)low;
                pthread_attr_destroy(&attributes);
            }
    #elif defined(__APPLE__)
            stack_end = (char*)pthread_get_stackaddr_np(pthread_self()) - pthread_get_stacksize_np(pthread_self());
    #endif
        }
        return stack_end == 0 ? INT64_MAX : (int64_t)(&here - stack_end);
    }
    """
    ctypedef long long int64_t
    int calls_here
    int most_here
    void* segment_here
    int64_t stack_left() noexcept nogil

cdef enum:
    FEW = 8  # Calls before the stack is looked at: most trees have no more levels.
    MORE = 10  # Calls until it is looked at again.
    KEPT_FRAMES = 300  # Calls of Python between that many deep ones, and by what the last one computes.
    KEPT_BYTES = 320 * 1024  # The same for compiled code on the stack.
    SEGMENT_BYTES = 1024 * 1024  # The least stack of a new thread.


cdef class _Deep:
    """A function that continues on another stack."""

    cdef object function
    cdef dict __dict__

    def __init__(self, function):
        self.function = function
        functools.update_wrapper(self, function)

    def __reduce__(self):
        return self.__qualname__

    def __get__(self, instance, owner):
        return self if instance is None else types.MethodType(self, instance)

    def __call__(self, *args):
        global calls_here, most_here
        if calls_here >= FEW and (calls_here == FEW or calls_here >= most_here):
            if not _has_room():
                return _elsewhere(self.function, args)
            most_here = calls_here + MORE
        calls_here += 1
        try:
            return self.function(*args)
        finally:
            calls_here -= 1


def deep(function: _F) -> _F:
    """Return a function that may call itself, or other deep functions, to any depth.

    Args:
        function: A function or method, called with positional arguments. It may run on another thread than its caller,
            with the caller's context variables.
    """
    return _Deep(function)


cdef bint _has_room() except -1:
    """Whether the stack of this thread has room for more calls."""
    if stack_left() < KEPT_BYTES:
        return False
    limit = sys.getrecursionlimit()
    # How many calls of compiled code are on the stack of another's thread is not known.
    kept = limit // 2 if segment_here == NULL else min(KEPT_FRAMES, limit // 2)
    try:
        # Python counts compiled calls, too: up to six between two deep ones, as in comparisons of tuples.
        sys._getframe(max(limit - kept - 6 * calls_here, 0))
    except ValueError:
        return True
    return False


cdef class _Chain:
    """The threads that continue one recursion. stopped: Whether nobody waits for its result any more."""

    cdef bint stopped


cdef class _Segment:
    """One call that runs on the stack of another thread.

    received, traceback: An error of the next segment, and the traceback to keep: that of the last segment alone.
    """

    cdef object function, args, context, done, found, error, received, traceback
    cdef _Chain chain

    def run(self):
        global segment_here, calls_here
        segment_here = <void*>self
        calls_here = 0
        try:
            self.found = self.context.run(self.function, *self.args)
        except BaseException as error:
            self.error = error
            if error is not self.received:
                self.traceback = error.__traceback__
        self.function = self.args = self.context = self.received = None
        segment_here = NULL
        self.done.release()


cdef object _elsewhere(object function, tuple args):
    """The result of a call on the stack of a new thread."""
    cdef _Segment caller = <_Segment>segment_here if segment_here != NULL else None
    cdef _Segment segment = _Segment()
    segment.function, segment.args, segment.context = function, args, contextvars.copy_context()
    segment.chain = _Chain() if caller is None else caller.chain
    _check(segment.chain)
    segment.done = _thread.allocate_lock()
    segment.done.acquire()
    _start(segment.run)
    try:
        segment.done.acquire()
    except BaseException:
        # A signal, such as Ctrl-C: the other threads end soon.
        segment.chain.stopped = True
        raise
    _check(segment.chain)
    if segment.error is None:
        return segment.found
    error, segment.error = segment.error, None
    if caller is not None:
        caller.received, caller.traceback = error, segment.traceback
    raise error.with_traceback(segment.traceback)


cdef int _check(_Chain chain) except -1:
    """Raise if the thread that waits for the whole result has given up."""
    if chain.stopped:
        raise KeyboardInterrupt
    return 0


cdef int _start(run) except -1:
    """Start a thread. Raises RecursionError if the system has no more."""
    given = _thread.stack_size()
    small = 0 < given < SEGMENT_BYTES
    if small:
        _thread.stack_size(SEGMENT_BYTES)
    try:
        _thread.start_new_thread(run, ())
    except RuntimeError as error:
        raise RecursionError(f"it is nested more deeply than the threads of this process allow: {error}") from error
    finally:
        if small:
            _thread.stack_size(given)
    return 0
