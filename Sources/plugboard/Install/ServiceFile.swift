// The files with which a service manager starts this program for a user and keeps it running.
// systemd also makes the socket, so that clients can connect before the program runs. It waits
// until the program is ready, and restarts it when signs of life stop.

import PlugboardPosix
import PlugboardWire

/// The service managers whose files can be written.
enum ServiceManager: String, CaseIterable, Sendable {
    case systemd, launchd

    /// The folder of the user's service files, below a home folder; `configuration` is XDG_CONFIG_HOME.
    func path(home: String, configuration: String?) -> String {
        switch self {
        case .systemd: "\(configuration ?? "\(home)/.config")/systemd/user/\(ServiceFile.name).service"
        case .launchd: "\(home)/Library/LaunchAgents/\(ServiceFile.label).plist"
        }
    }

    /// The path of the file for the socket, if there is one.
    func socketPath(home: String, configuration: String?) -> String? {
        switch self {
        case .systemd: "\(configuration ?? "\(home)/.config")/systemd/user/\(ServiceFile.name).socket"
        case .launchd: nil
        }
    }

    /// The commands to start the service, now and at the next login.
    func enabling(path: String) -> [String] {
        switch self {
        case .systemd:
            [
                "systemctl --user daemon-reload",
                "systemctl --user enable --now \(ServiceFile.name).socket \(ServiceFile.name).service",
            ]
        case .launchd: ["launchctl bootstrap gui/$(id -u) \(ShellWord.quoted(path))"]
        }
    }
}

extension ServiceManager {
    /// The commands to stop the service when the files are gone.
    func disabling() -> [String] {
        switch self {
        case .systemd:
            [
                "systemctl --user stop \(ServiceFile.name).socket \(ServiceFile.name).service",
                "systemctl --user daemon-reload",
            ]
        case .launchd: ["launchctl bootout gui/$(id -u)/\(ServiceFile.label)"]
        }
    }

    /// The files that enabling the service has left beside a file.
    func links(of path: String) -> [String] {
        let folder = SocketPath.folder(of: path)
        return switch self {
        case .systemd:
            [
                "\(folder)/default.target.wants/\(ServiceFile.name).service",
                "\(folder)/sockets.target.wants/\(ServiceFile.name).socket",
            ]
        case .launchd: []
        }
    }

    /// A file's text with its name in a comment, in the syntax of the file.
    func named(_ text: String, _ path: String) -> String {
        switch self {
        case .systemd: return "# \(Printable.text(path))\n\(text)"
        case .launchd:
            let lines = text.split(separator: "\n", maxSplits: 1, omittingEmptySubsequences: false)
            let name = Printable.text(path).split(separator: "--", omittingEmptySubsequences: false)
            return ([lines[0], "<!-- \(name.joined(separator: "- -")) -->"] + lines.dropFirst())
                .joined(separator: "\n")
        }
    }
}

/// The file for one command line of this program.
struct ServiceFile {
    static let name = "plugboard"
    static let label = "org.plugboard.bus"
    /// The longest time between two signs of life.
    static let watchdogSeconds = 30
    /// Marks a file as one that install may replace.
    static let mark = "Written by plugboard install."

    /// The program's absolute path and its arguments.
    let words: [String]
    /// The socket's path, if it isn't the user's own place.
    let socket: String?
    /// Within how many seconds after SIGTERM it has ended, with everything that it started.
    let stopSeconds: Int

    func text(for manager: ServiceManager) -> String {
        switch manager {
        case .systemd: unit
        case .launchd: propertyList
        }
    }

    /// The program ends its own children, in their order; systemd kills only what is left then.
    /// systemd kills a program that hangs at once: it would survive SIGABRT, which Swift's runtime
    /// catches. Nothing is lost that a client was told.
    private var unit: String {
        """
        # \(Self.mark) Replaced by it when that is done again.
        [Unit]
        Description=Plugboard, a message bus for this user's programs
        Requires=\(Self.name).socket
        After=\(Self.name).socket

        [Service]
        Type=notify
        WatchdogSec=\(Self.watchdogSeconds)
        WatchdogSignal=SIGKILL
        ExecStart=\(words.map(Self.unitWord).joined(separator: " "))
        ExecReload=/bin/kill -HUP $MAINPID
        Restart=on-failure
        RestartSec=1
        RestartPreventExitStatus=64
        KillMode=mixed
        TimeoutStopSec=\(stopSeconds)
        NoNewPrivileges=yes

        [Install]
        WantedBy=default.target
        Also=\(Self.name).socket

        """
    }

    /// The socket's file for systemd. The socket exists as long as the user is logged in.
    var socketUnit: String {
        """
        # \(Self.mark) Replaced by it when that is done again.
        [Unit]
        Description=The socket of Plugboard

        [Socket]
        ListenStream=\(socket.map(Self.unitText) ?? "%t/plugboard/bus.sock")
        SocketMode=0600
        DirectoryMode=0700

        [Install]
        WantedBy=sockets.target

        """
    }

    private var propertyList: String {
        """
        <?xml version="1.0" encoding="UTF-8"?>
        <!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
        <!-- \(Self.mark) Replaced by it when that is done again. -->
        <plist version="1.0">
        <dict>
            <key>Label</key>
            <string>\(Self.label)</string>
            <key>ProgramArguments</key>
            <array>
        \(words.map { "        <string>\(Self.markup($0))</string>" }.joined(separator: "\n"))
            </array>
            <key>RunAtLoad</key>
            <true/>
            <key>KeepAlive</key>
            <dict>
                <key>SuccessfulExit</key>
                <false/>
            </dict>
            <key>ExitTimeOut</key>
            <integer>\(stopSeconds)</integer>
        </dict>
        </plist>

        """
    }

    /// A word in quotes, in which characters that systemd would replace are doubled.
    private static func unitWord(_ word: String) -> String {
        let escaped = word.map { character in
            switch character {
            case "\\", "\"": "\\\(character)"
            case "%", "$": "\(character)\(character)"
            default: "\(character)"
            }
        }
        return "\"\(escaped.joined())\""
    }

    /// Doubles the characters that systemd would replace.
    private static func unitText(_ text: String) -> String {
        text.map { $0 == "%" ? "%%" : "\($0)" }.joined()
    }

    private static func markup(_ word: String) -> String {
        word.map { character in
            switch character {
            case "&": "&amp;"
            case "<": "&lt;"
            case ">": "&gt;"
            default: "\(character)"
            }
        }
        .joined()
    }
}
