// The settings of a bridge, from the command line, the environment and a file. They never change.

/// The settings of a bridge.
struct BridgeSettings: Sendable {
    var name = "bridge"
    var nodes: [String] = []
    var prefix: EtcdPrefix
    var host: String
    var sharing = Sharing()
    var user: EtcdUser?
    var route = EtcdRoute()
    /// How often the whole range is compared.
    var compareEvery: Duration = .seconds(600)
    /// A user whose broker is accepted besides this user's and root's.
    var peer: String?

    var keys: BridgeKeys { BridgeKeys(name: name) }
}

/// Why a session has to begin again. That is no failure, because the comparison puts everything right.
enum BridgeRestart: Error, Sendable, CustomStringConvertible {
    case compacted
    /// etcd's revision is lower than one that this bridge has seen, or the cluster is another one.
    case wentBack(reason: String)
    /// Somebody else writes the cursor.
    case cursorTaken
    case busLost
    /// The bus refuses a batch although nobody has written any of its keys, as far as this bridge knows.
    case refusedAgain(reason: String)

    var description: String {
        switch self {
        case .compacted: "etcd has forgotten what happened meanwhile (compaction): comparing everything"
        case .wentBack(let reason): "\(reason): comparing everything"
        case .cursorTaken: "another bridge of the same name is on this bus"
        case .refusedAgain(let reason): "the bus keeps refusing a batch (\(reason)): comparing everything"
        case .busLost: "the connection to the bus was lost"
        }
    }
}
