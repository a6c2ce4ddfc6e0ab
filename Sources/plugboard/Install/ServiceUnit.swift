// A socket unit of systemd that listens at a path. While nobody has connected, no broker runs there,
// and the socket is systemd's all the same.

import PlugboardPosix

/// The socket units that may have made a socket.
enum ServiceUnit {
    private static let bytesMax = 1 << 16
    private static let suffix = ".socket"

    /// What a person can do about a socket that another program has open.
    static func hints(forSocket path: String) -> [String] {
        guard let (unit, isUsers) = unit(listeningAt: path) else {
            return ["which program it is: ss -xlp | grep -F \(ShellWord.quoted(path))"]
        }
        let command = isUsers ? "systemctl --user" : "systemctl"
        let start = "\(command) start \(unit).service"
        return ["systemd's \(unit)\(suffix) listens there, and this starts its broker: \(start)"]
    }

    private static func unit(listeningAt path: String) -> (name: String, isUsers: Bool)? {
        let path = absolute(path)
        for (folder, isUsers) in folders {
            for name in (try? Folder.names(in: folder)) ?? [] where name.hasSuffix(suffix) {
                guard let bytes = try? InputFile.contents(path: "\(folder)/\(name)", limit: bytesMax) else {
                    continue
                }
                let lines = String(decoding: bytes, as: UTF8.self).split(separator: "\n")
                if lines.contains(where: { listens($0, at: path, isUsers: isUsers) }) {
                    return (String(name.dropLast(suffix.count)), isUsers)
                }
            }
        }
        return nil
    }

    /// Where units are, systemd.unit(5).
    private static var folders: [(path: String, isUsers: Bool)] {
        let home = SocketPath.variable("HOME") ?? "/"
        let own = SocketPath.variable("XDG_CONFIG_HOME") ?? "\(home)/.config"
        let users = ["/etc", "/run", "/usr/local/lib", "/usr/lib"].map { ("\($0)/systemd/user", true) }
        let systems = ["/etc", "/run", "/usr/local/lib", "/usr/lib"].map { ("\($0)/systemd/system", false) }
        return [("\(own)/systemd/user", true)] + users + systems
    }

    /// Whether a line of a unit is `ListenStream=` and this path.
    private static func listens(_ line: Substring, at path: String, isUsers: Bool) -> Bool {
        let mark = "ListenStream="
        guard line.hasPrefix(mark) else { return false }
        var place = ""
        var rest = line.dropFirst(mark.count)
        let own = SocketPath.variable("XDG_RUNTIME_DIR") ?? "/run/user/\(Accounts.ownUser)"
        let runtime = isUsers ? own : "/run"
        while let character = rest.popFirst() {
            guard character == "%", let letter = rest.popFirst() else {
                place.append(character)
                continue
            }
            switch letter {
            case "t": place += runtime
            case "h": place += SocketPath.variable("HOME") ?? ""
            case "U": place += "\(Accounts.ownUser)"
            default: place.append(letter)
            }
        }
        return place == path
    }

    private static func absolute(_ path: String) -> String {
        path.hasPrefix("/") ? path : "\(Folder.current())/\(path)"
    }
}
