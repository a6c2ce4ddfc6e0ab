// One live subscription, as the link keeps it: its request, for now and for each reconnection, and its
// handlers. A trace is one, too.

import PlugboardWire

/// A subscription that the broker has accepted, or that should be live whenever there is a broker.
final class KeptSubscription: Sendable {
    /// The subscription's number, which is never used again.
    let sub: Int
    let patterns: [String]
    let options: SubscribeOptions
    /// Whether an event is handled when its callback has returned.
    let acknowledgesCallbacks: Bool
    /// Takes the lines if this is a trace; otherwise nil.
    let trace: TraceLines?
    private let resumePoint: ResumePoint
    private let onBegin: @Sendable (_ isResumed: Bool) -> Void
    private let onEvent: @Sendable (Event) -> Void
    private let onEnd: @Sendable (BusError?) -> Void

    /// - Parameters:
    ///   - acknowledgesCallbacks: whether an event is handled when `onEvent` has returned.
    ///   - onBegin: called on each connection when the broker has accepted the subscription. Its argument
    ///     says whether it resumes where the last connection broke.
    ///   - onEvent: called on the bus's thread, in order.
    ///   - onEnd: called once when no more events come, with nil if the program asked for that.
    init(
        sub: Int,
        patterns: [String],
        options: SubscribeOptions,
        acknowledgesCallbacks: Bool = false,
        onBegin: @escaping @Sendable (_ isResumed: Bool) -> Void = { _ in },
        onEvent: @escaping @Sendable (Event) -> Void,
        onEnd: @escaping @Sendable (BusError?) -> Void
    ) {
        self.sub = sub
        self.patterns = patterns
        self.options = options
        self.acknowledgesCallbacks = acknowledgesCallbacks
        trace = nil
        resumePoint = ResumePoint(since: options.since)
        self.onBegin = onBegin
        self.onEvent = onEvent
        self.onEnd = onEnd
    }

    /// A trace. It reports writes instead of values.
    init(
        tracing patterns: [String],
        sub: Int,
        _ trace: TraceLines,
        onEnd: @escaping @Sendable (BusError?) -> Void
    ) {
        self.sub = sub
        self.patterns = patterns
        self.trace = trace
        self.onEnd = onEnd
        options = SubscribeOptions(initial: false)
        resumePoint = ResumePoint(since: nil)
        acknowledgesCallbacks = false
        onBegin = { _ in }
        onEvent = { _ in }
    }

    /// The broker has accepted the subscription. `epoch` is the broker's.
    func begin(_ reply: Reply, epoch: String) {
        resumePoint.begin(reply, epoch: epoch, hasSnapshot: options.initial)
        onBegin(reply.isResumed)
    }

    func receive(_ event: Event) {
        if let news = resumePoint.news(of: event) { onEvent(news) }
    }

    func end(_ error: BusError?) { onEnd(error) }

    /// The request that begins the subscription anew.
    private var request: ObjectWriter {
        trace == nil ? .subscribe(patterns, sub: sub, options) : .trace(patterns, sub: sub)
    }

    /// The request on a connection. If the broker can resume, the request says from where.
    func request(for greeting: Greeting?) -> ObjectWriter {
        let place = resumePoint.place
        guard trace == nil, let greeting else { return request }
        var request = request
        if options.countsEmits, greeting.features.contains("emits") {
            request = request.adding("emits", place.revision == nil ? 0 : resumePoint.emitsRevision)
        }
        guard greeting.features.contains("since"), let since = place.revision else { return request }
        return request.adding("since", since).adding("epoch", string: place.epoch)
    }
}
