// Which process a broker is. What it tells is only a number: if it runs in a container, or isn't honest, that
// is the number of another program here.

import PlugboardPosix

/// Finds the process of a broker.
enum BrokerProcess {
    /// The number that the broker tells, if the system confirms it; nil otherwise.
    static func confirmed(_ told: UInt64?, by connection: BrokerConnection) -> Int32? {
        guard let pid = told.flatMap(Int32.init(exactly:)), pid > 0 else { return nil }
        // A service manager may have opened the socket. But only the broker has the lock beside it.
        let isBroker =
            connection.peerProcess == pid || SocketLock.isOpen(in: pid, for: connection.path)
        return isBroker ? pid : nil
    }
}
