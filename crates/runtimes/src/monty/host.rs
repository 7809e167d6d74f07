//! What code may ask of the program around it: functions that a program registered, folders that a person granted.
//! Nothing else is there.

use std::{collections::BTreeMap, fmt, future::Future, sync::Arc};

use monty_pool::{Checkout, MountSpec, OnPrint, PoolError, ResumeValue, TurnEvent};
use monty_types::{MontyException, MontyObject};
use sandbook_sandbox::BoxFuture;

/// What a function was called with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostCall {
    /// The arguments without a name.
    pub arguments: Vec<MontyObject>,
    /// The arguments with one, in the order of the call.
    pub named: Vec<(String, MontyObject)>,
}

/// What a function came to: a value, or what is raised in the code.
pub type HostAnswer = Result<MontyObject, MontyException>;

/// A function of the program around Monty that code can call by its name.
///
/// Code waits for the answer, other sandboxes do not. An interrupt, a run that takes too long and the end of the sandbox
/// drop the future that makes it; what it did by then is done. A call is not undone when the run is.
#[derive(Clone)]
pub struct HostFunction {
    name: String,
    documentation: Option<String>,
    declaration: Option<String>,
    call: Arc<dyn Fn(HostCall) -> BoxFuture<'static, HostAnswer> + Send + Sync>,
}

impl HostFunction {
    /// A function under a name.
    pub fn new<Making, Answering>(name: impl Into<String>, call: Making) -> Self
    where
        Making: Fn(HostCall) -> Answering + Send + Sync + 'static,
        Answering: Future<Output = HostAnswer> + Send + 'static,
    {
        let call = Arc::new(move |given| Box::pin(call(given)) as BoxFuture<'static, HostAnswer>);
        Self { name: name.into(), documentation: None, declaration: None, call }
    }

    /// With what it says of itself to code.
    #[must_use]
    pub fn documented(self, documentation: impl Into<String>) -> Self {
        Self { documentation: Some(documentation.into()), ..self }
    }

    /// With its declaration, as in a stub file: `def fetch(url: str) -> str: ...`. Type checking knows it by that, and
    /// refuses code that calls a function without one.
    #[must_use]
    pub fn declared(self, declaration: impl Into<String>) -> Self {
        Self { declaration: Some(declaration.into()), ..self }
    }
}

impl fmt::Debug for HostFunction {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("HostFunction").field("name", &self.name).finish_non_exhaustive()
    }
}

/// The functions of a runtime, by name.
#[derive(Debug, Clone, Default)]
pub(super) struct Functions(BTreeMap<String, HostFunction>);

impl Functions {
    /// Adds one; it takes the place of another one of its name.
    pub(super) fn add(&mut self, function: HostFunction) {
        self.0.insert(function.name.clone(), function);
    }

    /// Their declarations, after what is declared already.
    pub(super) fn declared_after(&self, stubs: Option<String>) -> Option<String> {
        let declarations = self.0.values().filter_map(|function| function.declaration.clone());
        let all: Vec<String> = stubs.into_iter().chain(declarations).collect();
        (!all.is_empty()).then(|| all.join("\n"))
    }
}

/// What is there for the code of one sandbox.
#[derive(Debug, Clone, Default)]
pub(super) struct Host {
    pub(super) functions: Functions,
    pub(super) mounts: Vec<MountSpec>,
}

impl Host {
    /// Feeds some code, and answers what it asks for, to its end.
    pub(super) async fn run(
        &self,
        checkout: &mut Checkout,
        code: &str,
        names: Vec<(String, MontyObject)>,
        print: OnPrint<'_>,
    ) -> Result<MontyObject, PoolError> {
        let mut event = checkout.feed(code, names, self.mounts.clone(), false, print).await?;
        loop {
            event = match event {
                TurnEvent::Complete(value) => return Ok(value),
                TurnEvent::OsCall { .. } => match checkout.resume_from_mounts(print).await? {
                    Some(next) => next,
                    None => checkout.resume(ResumeValue::NotHandled, print).await?,
                },
                TurnEvent::FunctionCall { function_name, args, kwargs, object_id: None, .. } => {
                    let answer = self.call(&function_name, args, kwargs).await;
                    checkout.resume(answer, print).await?
                }
                // no object of ours is ever given to code
                TurnEvent::FunctionCall { .. } => checkout.resume(ResumeValue::NotFound, print).await?,
                TurnEvent::NameLookup { name, object_id } => {
                    let known = self.functions.0.get(&name).filter(|_| object_id.is_none());
                    let value = known.map(|function| MontyObject::Function {
                        name,
                        docstring: function.documentation.clone(),
                    });
                    checkout.resume_name_lookup(value, print).await?
                }
                TurnEvent::ResolveFutures { pending_call_ids } => {
                    let never = || {
                        ResumeValue::Error(MontyException::runtime_error(
                            "nobody will ever answer what this waits for",
                        ))
                    };
                    let answers = pending_call_ids.into_iter().map(|id| (id, never())).collect();
                    checkout.resume_futures(answers, print).await?
                }
            };
        }
    }

    async fn call(
        &self,
        name: &str,
        arguments: Vec<MontyObject>,
        named: Vec<(MontyObject, MontyObject)>,
    ) -> ResumeValue {
        let Some(function) = self.functions.0.get(name) else { return ResumeValue::NotFound };
        let named = named.into_iter().map(|(name, value)| (name.to_string(), value)).collect();
        match (function.call)(HostCall { arguments, named }).await {
            Ok(value) => ResumeValue::Return(value),
            Err(exception) => ResumeValue::Error(exception),
        }
    }
}
