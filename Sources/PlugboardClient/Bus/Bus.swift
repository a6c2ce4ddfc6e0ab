// The library's entry point: a connection to a broker, which lasts as long as somebody holds it. It may
// be used from any thread or task. Only `async` functions wait for the broker.

// Exported, because this library's own functions take and return types of it, such as `Disposable`.
@_exported import Observables
import PlugboardPosix
import PlugboardWire

/// A connection to the bus.
///
/// ```swift
/// let bus = try await Bus.connect(name: "greeter")
/// try await bus.publish("greeting", "hello")
/// for try await event in try await bus.subscribe("people.**") where event.kind == .update {
///     print(event.key, try event.decode(as: String.self))
/// }
/// ```
/// **Threads.** A bus has one thread of its own, which writes, reads and calls callbacks. Keep callbacks
/// short. Callers only add to a queue, whose length is limited.
///
/// **Reconnecting.** If the connection breaks, the bus makes a new one, after pauses that grow. It sets
/// the name, all subscriptions, announced values and the will again, and `onStateChange` reports it. Each
/// subscription then gets the current values once more, marked `isInitial`, a `delete` for each key that
/// is gone, and another `synced`. So its events always give the exact state of the bus. Requests that are
/// under way when the connection breaks fail with `BusError.disconnected` and are never repeated.
/// Requests that are made without a connection wait for one until they time out.
///
/// **Order.** The writes of one task reach the broker in the order of its calls, whether they are awaited
/// or pipelined.
///
/// **End.** The connection lasts until `close()`, or until the bus and everything that was made from it
/// (subscriptions, remote observables) is released.
public final class Bus: Sendable {
    let link: Link

    /// Connects to the broker.
    ///
    /// - Parameters:
    ///   - name: the `by` of everything that this client writes; up to 64 bytes.
    ///   - path: the broker's socket. By default `PLUGBOARD_SOCKET`, or else the standard place.
    ///   - options: how to connect and reconnect, and how long requests may take.
    /// - Throws: `BusError.noBroker` if nobody answers (at once, unless `options.waitForBroker` says
    ///   otherwise); `.untrusted` if another user's broker answers (see `options.peer`); `.notABroker`;
    ///   `.refused` if the name is invalid.
    public static func connect(
        name: String? = nil, path: String? = nil, options: Options = Options()
    ) async throws -> Bus {
        let path = path ?? SocketPath.standard()
        let link: Link
        do {
            link = try Link(socketPath: path, name: name, options: options)
        } catch let error as UnknownUser {
            throw BusError.untrusted(path: path, reason: "\(error)")
        } catch {
            throw BusError.noBroker(path: path, reason: "\(error)")
        }
        let bus = Bus(link)
        try await link.open()
        return bus
    }

    private init(_ link: Link) {
        self.link = link
    }

    deinit {
        link.close(nil)
    }

    /// The socket that this bus is, or was, connected to.
    public var path: String { link.socketPath }

    /// The present state of the connection.
    public var state: ConnectionState { link.connectionState.value }

    /// The newest greeting of a broker; nil before the first connection.
    public var greeting: Greeting? { link.state.withLock { $0.greeting } }

    /// Calls `handler` for each change of the connection's state, on the bus's thread,
    /// until the handle is disposed of or released. With `initial`, it is called with the present state
    /// first.
    public func onStateChange(
        initial: Bool = false, _ handler: @escaping @Sendable (ConnectionState) -> Void
    ) -> Disposable {
        link.connectionState.observe(initial: initial) { handler($0.new) }
    }

    /// The present state and every later one. It ends after `.closed`.
    public var states: AsyncStream<ConnectionState> {
        AsyncStream { continuation in
            let observation = link.connectionState.observe(initial: true) { change in
                continuation.yield(change.new)
                if case .closed = change.new { continuation.finish() }
            }
            continuation.onTermination = { _ in observation.dispose() }
        }
    }

    /// Calls `handler` for failures that nobody waits for: of pipelined writes, of changes of remote
    /// observables, of values that can't be decoded. Without a handler, such a fault is printed on
    /// standard error.
    public func onFault(_ handler: @escaping @Sendable (Fault) -> Void) -> Disposable {
        link.faults.observe(handler)
    }

    /// Ends the connection at once, and with it every request (`BusError.closed`), every sequence and
    /// every observer. Writes that were not sent yet are dropped, and the broker writes the will if there
    /// is one. Use `finish()` to end in order. Calling it again does nothing.
    public func close() {
        link.close(nil)
    }
}

extension Bus {
    /// The settings of a connection.
    public struct Options: Sendable {
        /// The seconds in `PLUGBOARD_TIMEOUT`, or else 5.
        public static let usualTimeout = Duration.seconds(
            TimeoutVariable.seconds(SocketPath.variable(TimeoutVariable.name))
        )

        /// How long a request may take if it has no `timeout` of its own.
        public var requestTimeout: Duration
        /// How long the broker may take to greet when a connection begins, and may then be silent before
        /// it has answered the first requests.
        public var connectTimeout: Duration
        /// How long `connect` waits for a broker that isn't there yet. Zero means not at all.
        public var waitForBroker: Duration
        /// Whether a broken connection is made again. If not, the bus closes.
        public var reconnects: Bool
        public var backoff: Backoff
        /// Bytes that may wait to be written.
        public var outboxBytesMax: Int
        /// A user whose broker the bus accepts, besides this user's and root's: a name or a number. If it
        /// is nil, `PLUGBOARD_PEER` may name one.
        public var peer: String?
        /// How long the broker waits for this program when its connection ends, if it has a name: within this time,
        /// ``announce(_:_:timeout:)`` values stay and the will isn't written, and the program that takes this name
        /// with a grace has both. So an update isn't seen as death and birth. An end by a signal or with ``close()``
        /// waits, too; ``finish(within:)`` ends at once. At most an hour, and zero means not at all.
        public var grace: Duration

        public init(
            requestTimeout: Duration = Options.usualTimeout,
            connectTimeout: Duration = Options.usualTimeout,
            waitForBroker: Duration = .zero,
            reconnects: Bool = true,
            backoff: Backoff = Backoff(),
            outboxBytesMax: Int = ClientLimits.outboxBytesMax,
            peer: String? = nil,
            grace: Duration = .zero
        ) {
            self.requestTimeout = requestTimeout
            self.connectTimeout = connectTimeout
            self.waitForBroker = waitForBroker
            self.reconnects = reconnects
            self.backoff = backoff
            self.outboxBytesMax = outboxBytesMax
            self.peer = peer
            self.grace = grace
        }
    }
}
