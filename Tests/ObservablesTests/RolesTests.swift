// The roles of the classic pattern, each adopted in a few lines.

import Observables
import Synchronization
import Testing

private protocol RatingObserver: Observer, Sendable { func rated(_ stars: Int) }
private protocol ScreenObserver: Observer, Sendable { func screenChanged(to name: String) }
private protocol BannerObserver: Observer, Sendable { func bannerChanged(to text: String?) }

private final class Reviews: ConcretePublisher, Sendable {
    let observable = ThreadSafeObservable()
    func rate(_ stars: Int) { withObservers { (observer: any RatingObserver) in observer.rated(stars) } }
}

private final class Screen: ConcretePublisher, Sendable {
    let observable = ObservableThread()
    func show(_ name: String) {
        withObservers { (observer: any ScreenObserver) in observer.screenChanged(to: name) }
    }
}

private final class Average: RatingObserver, ConcreteObserver {
    let reviews: Reviews
    var publishers: [any Publisher<any SendableObject>] { [reviews] }
    let heard = Recorder<Int>()
    init(_ reviews: Reviews) { self.reviews = reviews }
    func rated(_ stars: Int) { heard.record(stars) }
}

private final class Banners: Mediator, RatingObserver, ScreenObserver {
    let observable = ThreadSafeObservable()
    var publishers: [any Publisher<any SendableObject>] { [reviews, screen] }
    private let reviews: Reviews
    private let screen: Screen
    private let state = Mutex((stars: 0, screen: "list"))

    init(_ reviews: Reviews, _ screen: Screen) {
        self.reviews = reviews
        self.screen = screen
    }

    func rated(_ stars: Int) { tell { $0.stars = stars } }
    func screenChanged(to name: String) { tell { $0.screen = name } }

    private func tell(_ change: (inout (stars: Int, screen: String)) -> Void) {
        let text = state.withLock { state in
            change(&state)
            return state.screen == "detail" ? "\(state.stars) stars" : nil
        }
        withObservers { (observer: any BannerObserver) in observer.bannerChanged(to: text) }
    }
}

private final class Window: BannerObserver {
    let heard = Recorder<String?>()
    func bannerChanged(to text: String?) { heard.record(text) }
}

@Suite("the roles of the pattern")
struct RolesTests {
    private let reviews = Reviews()

    @Test("a concrete publisher has its observers in an observable of its own")
    func concretePublisher() {
        let first = Average(reviews)
        let second = Average(reviews)
        reviews.add(first, second)
        reviews.rate(4)
        reviews.remove(first)
        reviews.rate(5)
        #expect(first.heard.all == [4])
        #expect(second.heard.all == [4, 5])
    }

    @Test("a concrete observer adds and removes itself")
    func concreteObserver() {
        let average = Average(reviews)
        reviews.rate(1)
        average.startObserving()
        reviews.rate(2)
        average.stopObserving()
        reviews.rate(3)
        #expect(average.heard.all == [2])
        #expect(reviews.observable.observerCount == 0)
    }

    @Test("a mediator hears two publishers that don't know each other, and publishes what follows")
    func mediator() throws {
        let screen = Screen()
        let banners = Banners(reviews, screen)
        let window = Window()
        banners.startObserving()
        banners.add(window)
        try screen.observable.start()
        reviews.rate(4)
        screen.show("detail")
        screen.observable.stop()
        screen.observable.join()
        reviews.rate(5)
        banners.stopObserving()
        reviews.rate(1)
        #expect(window.heard.all == [nil, "4 stars", "5 stars"])
    }

    @Test("on one thread the roles ask for nothing Sendable")
    func plainRoles() {
        final class Valve: ConcretePublisher {
            let observable = PlainObservable()
            var isOpen = false
            func toggle() {
                isOpen.toggle()
                withObservers { (observer: Pipe) in observer.flow = isOpen ? 1 : 0 }
            }
        }
        final class Pipe: ConcreteObserver {
            let publishers: [any Publisher<AnyObject>]
            var flow = 0
            init(_ valve: Valve) { publishers = [valve] }
        }
        let valve = Valve()
        let pipe = Pipe(valve)
        pipe.startObserving()
        valve.toggle()
        #expect(pipe.flow == 1)
        pipe.stopObserving()
        valve.toggle()
        #expect(pipe.flow == 1)
    }
}
