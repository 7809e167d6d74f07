use serde_json::json;

use super::*;
use crate::message::SessionId;

struct Setting {
    router: Router,
    session: SessionId,
    log: mpsc::UnboundedReceiver<SessionEvent>,
}

impl Setting {
    fn in_step() -> Self {
        let session = SessionId::random();
        let (sender, log) = mpsc::unbounded_channel();
        let mut router = Router::new(session.as_str().to_owned(), sender);
        router.in_step(0);
        Self { router, session, log }
    }

    fn execute(&mut self) -> (Message, mpsc::UnboundedReceiver<ExecutionEvent>) {
        let request = Message::new(Channel::Shell, "execute_request", &self.session, &json!({}));
        let (events, receiver) = mpsc::unbounded_channel();
        self.router.execution(request.clone(), events);
        (request, receiver)
    }

    fn say(&mut self, channel: Channel, msg_type: &str, content: &serde_json::Value, parent: &Message) {
        let message = Message::new(channel, msg_type, &SessionId::random(), content).in_reply_to(parent);
        let activity = Activity::told_by(&message);
        self.router.message(message, activity);
    }

    fn idle(&mut self, parent: &Message) {
        self.say(Channel::Iopub, "status", &json!({"execution_state": "idle"}), parent);
    }

    fn reply(&mut self, parent: &Message) {
        self.say(Channel::Shell, "execute_reply", &json!({"status": "ok"}), parent);
    }
}

fn end(events: &mut mpsc::UnboundedReceiver<ExecutionEvent>) -> Option<ExecutionEnd> {
    while let Ok(event) = events.try_recv() {
        if let ExecutionEvent::Ended(end) = event {
            return Some(end);
        }
    }
    None
}

#[test]
fn an_execution_ends_when_reply_and_idle_have_come_in_either_order() {
    let mut setting = Setting::in_step();
    let (request, mut events) = setting.execute();
    setting.idle(&request);
    assert_eq!(end(&mut events), None);
    setting.reply(&request);
    assert_eq!(end(&mut events), Some(ExecutionEnd::Complete));

    let (request, mut events) = setting.execute();
    setting.reply(&request);
    assert_eq!(end(&mut events), None);
    setting.idle(&request);
    assert_eq!(end(&mut events), Some(ExecutionEnd::Complete));
}

#[test]
fn what_comes_after_the_end_is_logged_as_late() {
    let mut setting = Setting::in_step();
    let (request, _events) = setting.execute();
    setting.reply(&request);
    setting.idle(&request);
    setting.say(Channel::Iopub, "stream", &json!({"name": "stdout", "text": "x"}), &request);
    let event = setting.log.try_recv().unwrap();
    let SessionEvent::Message { origin: Origin::Late(id), message } = event else { panic!("{event:?}") };
    assert_eq!((id.as_str(), message.msg_type()), (request.id(), "stream"));
}

#[test]
fn foreign_and_parentless_messages_go_to_the_log() {
    let mut setting = Setting::in_step();
    let other = Message::new(Channel::Shell, "execute_request", &SessionId::random(), &json!({}));
    setting.say(Channel::Iopub, "stream", &json!({}), &other);
    setting.router.message(Message::new(Channel::Iopub, "stream", &SessionId::random(), &json!({})), None);
    let mut origin = || match setting.log.try_recv() {
        Ok(SessionEvent::Message { origin, .. }) => origin,
        other => panic!("{other:?}"),
    };
    assert_eq!((origin(), origin()), (Origin::Foreign, Origin::Parentless));
}

#[test]
fn executions_are_held_until_the_line_is_in_step_and_keep_their_order() {
    let mut setting = Setting::in_step();
    setting.router.out_of_step();
    let (first, _keep) = setting.execute();
    let (second, _keep) = setting.execute();
    let order = setting.router.probe("p").order;
    let held: Vec<_> =
        setting.router.in_step(order).into_iter().map(|message| message.id().to_owned()).collect();
    assert_eq!(held, [first.id(), second.id()]);
}

#[test]
fn after_a_gap_an_execution_whose_end_was_missed_is_ended_as_lost_and_a_held_one_is_not() {
    let mut setting = Setting::in_step();
    let (begun, mut begun_events) = setting.execute();
    let (_, mut unseen_events) = setting.execute();
    setting.say(Channel::Iopub, "stream", &json!({}), &begun);
    setting.router.out_of_step();
    let (_, mut held_events) = setting.execute();
    let order = setting.router.probe("p").order;
    setting.router.in_step(order);
    assert_eq!(end(&mut begun_events), Some(ExecutionEnd::Lost { seen: true }));
    assert_eq!(end(&mut unseen_events), Some(ExecutionEnd::Lost { seen: false }));
    assert_eq!(end(&mut held_events), None);
}

#[test]
fn an_idle_that_was_thrown_away_is_noticed_and_does_not_keep_the_execution() {
    let mut setting = Setting::in_step();
    let (request, mut events) = setting.execute();
    assert!(!setting.router.awaits_idle(request.id()));
    setting.reply(&request);
    assert!(setting.router.awaits_idle(request.id()));
    let order = setting.router.probe("p").order;
    setting.router.in_step(order);
    assert_eq!(end(&mut events), Some(ExecutionEnd::Lost { seen: true }));
}

#[test]
fn a_dead_kernel_ends_what_was_sent() {
    let mut setting = Setting::in_step();
    let (_, mut events) = setting.execute();
    setting.router.kernel_gone(&ExecutionEnd::Died);
    assert_eq!(end(&mut events), Some(ExecutionEnd::Died));
}
